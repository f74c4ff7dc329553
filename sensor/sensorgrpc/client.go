package sensorgrpc

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"meridian/sensor"
)

// UnaryClient is a grpc.UnaryClientInterceptor.
func UnaryClient(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if !on(calls.Enabled()) {
		return next(ctx, method, request, reply, conn, options...)
	}
	tag := sensor.NewTag()
	ctx = metadata.AppendToOutgoingContext(ctx, Key, tag.String())
	var trailer metadata.MD
	span := calls.Begin(method, conn.Target())
	requests.Send(tag.ID())
	err := next(ctx, method, request, reply, conn, append(slices.Clip(options), grpc.Trailer(&trailer))...)
	if u, ok := tagOf(trailer); ok {
		replies.Receive(u.ID())
	}
	called.Emit(span.ID(), int32(status.Code(err)))
	span.End()
	return err
}

// StreamClient is a grpc.StreamClientInterceptor. The slice of a stream ends when its end was received, or when its
// context is cancelled: gRPC asks callers to do one of both.
func StreamClient(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	if !on(calls.Enabled()) {
		return next(ctx, desc, conn, method, options...)
	}
	s := &clientStream{tag: sensor.NewTag(), single: !desc.ServerStreams}
	s.span = calls.Begin(method, conn.Target())
	requests.Send(s.tag.ID())
	var err error
	s.ClientStream, err = next(metadata.AppendToOutgoingContext(ctx, Key, s.tag.String()), desc, conn, method, options...)
	if err != nil {
		s.end(int32(status.Code(err)))
		return nil, err
	}
	s.release = context.AfterFunc(ctx, func() { s.end(unknown) })
	return s, nil
}

// clientStream counts the messages of a stream. One goroutine may send while another receives.
type clientStream struct {
	grpc.ClientStream
	tag     sensor.Tag
	span    sensor.Span
	single  bool // the server sends one message
	release func() bool
	ended   sync.Once

	sent uint64

	// What the receiving goroutine has.
	reply    sensor.Tag
	tagged   bool // there is a reply
	over     bool // nothing more will be received
	received uint64
}

func (s *clientStream) SendMsg(m any) error {
	s.sent++
	messages.Send(numbered(s.tag, s.sent))
	return s.ClientStream.SendMsg(m)
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.count()
	}
	if err != nil || s.single { // gRPC has then read the end too
		s.finish(err)
	}
	return err
}

// count marks a message that was received. The metadata of the server has come before the first.
func (s *clientStream) count() {
	if s.received++; s.received == 1 {
		if md, err := s.Header(); err == nil {
			s.reply, s.tagged = tagOf(md)
		}
	}
	if s.tagged {
		messages.Receive(numbered(s.reply, s.received))
	}
}

// finish marks the end of the stream, if the server's trailer came: an error may as well be one of this side, of which the
// server knows nothing.
func (s *clientStream) finish(err error) {
	if s.over { // and was before
		return
	}
	s.over = true
	s.release()
	if u, ok := tagOf(s.Trailer()); ok {
		replies.Receive(u.ID())
	}
	s.end(int32(codeOf(err)))
}

// end ends the slice, once; further calls do nothing.
func (s *clientStream) end(code int32) {
	s.ended.Do(func() {
		called.Emit(s.span.ID(), code)
		s.span.End()
	})
}
