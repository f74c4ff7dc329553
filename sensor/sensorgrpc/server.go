package sensorgrpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"meridian/sensor"
)

// UnaryServer is a grpc.UnaryServerInterceptor.
func UnaryServer(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
	if !on(serves.Enabled()) {
		return next(ctx, request)
	}
	tag, tagged := last(metadata.ValueFromIncomingContext(ctx, Key))
	if tagged {
		requests.Receive(tag.ID())
	}
	span := serves.Begin(info.FullMethod)
	code := codes.Unknown // of a handler that panics
	defer func() { serveEnd(span, code) }()
	reply, err = next(ctx, request)
	code = codeOf(err)
	if tagged {
		u := sensor.NewTag()
		if grpc.SetTrailer(ctx, metadata.Pairs(Key, u.String())) == nil {
			replies.Send(u.ID())
		}
	}
	return reply, err
}

// StreamServer is a grpc.StreamServerInterceptor.
func StreamServer(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if !on(serves.Enabled()) {
		return next(server, stream)
	}
	s := &serverStream{ServerStream: stream}
	tag, tagged := last(metadata.ValueFromIncomingContext(stream.Context(), Key))
	if tagged {
		requests.Receive(tag.ID())
		s.tag, s.reply = tag, sensor.NewTag()
		s.carried = metadata.Pairs(Key, s.reply.String())
		s.tagged = stream.SetHeader(s.carried) == nil
	}
	span := serves.Begin(info.FullMethod)
	code := codes.Unknown
	defer func() { serveEnd(span, code) }()
	err := next(server, s)
	code = codeOf(err)
	if s.tagged {
		stream.SetTrailer(s.carried)
		replies.Send(s.reply.ID())
	}
	return err
}

func serveEnd(span sensor.Span, code codes.Code) {
	served.Emit(span.ID(), int32(code))
	span.End()
}

// serverStream counts the messages of a stream. One goroutine may send while another receives.
type serverStream struct {
	grpc.ServerStream
	tag, reply sensor.Tag
	tagged     bool // the stream came with a tag, and goes with one
	carried    metadata.MD
	sent       uint64
	received   uint64
}

func (s *serverStream) SendMsg(m any) error {
	if s.tagged {
		s.sent++
		messages.Send(numbered(s.reply, s.sent))
	}
	return s.ServerStream.SendMsg(m)
}

func (s *serverStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && s.tagged {
		s.received++
		messages.Receive(numbered(s.tag, s.received))
	}
	return err
}

// codeOf returns gRPC's code of the error with which a call or a stream ended.
func codeOf(err error) codes.Code {
	if errors.Is(err, io.EOF) {
		return codes.OK
	}
	return status.Code(err)
}
