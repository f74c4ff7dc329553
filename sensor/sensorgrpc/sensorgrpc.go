// Package sensorgrpc records gRPC calls, unary and streams, as messages. A client and a server with its interceptors record in
// their traces when each message was sent and received, so that alignment puts both on one time base, and every call as a
// slice.
//
//	grpc.NewClient(addr, grpc.WithChainUnaryInterceptor(sensorgrpc.UnaryClient),
//		grpc.WithChainStreamInterceptor(sensorgrpc.StreamClient))
//	grpc.NewServer(grpc.ChainUnaryInterceptor(sensorgrpc.UnaryServer),
//		grpc.ChainStreamInterceptor(sensorgrpc.StreamServer))
//
// The events are those of package sensor, written if they are switched on. A call carries a tag T in the metadata meridian-tag,
// and its end carries a tag U of the server in the trailer:
//
//	client                                                  server
//	  grpc:request sends T      --- meridian-tag: T --->     grpc:request receives T    slice grpc:serve begins
//	  grpc:message sends T/1    ------- message 1 ----->     grpc:message receives T/1
//	  grpc:message sends T/2    ------- message 2 ----->     grpc:message receives T/2
//	                            <--- meridian-tag: U ---     (metadata, before the first message)
//	  grpc:message receives U/1 <------ message 1 ------     grpc:message sends U/1
//	  grpc:reply receives U     <--- meridian-tag: U ---     grpc:reply sends U         trailer: the handler has returned
//
// The messages of a stream carry nothing: gRPC brings them in their order and loses none, so that both ends count them,
// and T/n is the number of the n-th. A unary call has no messages but request and reply.
//
// The stamp of a send is before the message can leave, that of a receive after it has come. A request is stamped before gRPC looks
// for a connection, so a request that waits for one seems slow. A server replies with tags only to a tagged call. All
// other metadata is left alone.
//
// The cost with events off is a few loads; with events on, some ten nanoseconds for every mark, and what gRPC allocates for
// the metadata. A message of a stream allocates nothing.
//
// The marks are those of BRISK (reason and consequence), with Dinkel's tags of process and count.
package sensorgrpc

import (
	"google.golang.org/grpc/metadata"

	"meridian/sensor"
)

// Key is the metadata that carries a tag.
const Key = "meridian-tag"

var (
	requests = sensor.NewMark("grpc", "request")
	replies  = sensor.NewMark("grpc", "reply")
	messages = sensor.NewMark("grpc", "message")

	calls  = sensor.NewSlice2[string, string]("grpc", "call", "method", "target")
	serves = sensor.NewSlice1[string]("grpc", "serve", "method")

	// How a slice ended: its number, and gRPC's code; -1 if it is unknown, since the client cancelled the stream.
	called = sensor.NewEvent2[uint64, int32]("grpc", "called", "slice_id", "code")
	served = sensor.NewEvent2[uint64, int32]("grpc", "served", "slice_id", "code")
)

const unknown = -1

// on reports whether any of the events is switched on: the slices of one side, or marks.
func on(slices bool) bool {
	return slices || requests.Enabled() || replies.Enabled() || messages.Enabled()
}

// last returns the tag among the values of the metadata, the last one where there are several: a server that calls others
// with all the metadata it got passes its client's tag on, and its own comes behind that.
func last(values []string) (sensor.Tag, bool) {
	if len(values) == 0 {
		return sensor.Tag{}, false
	}
	t, err := sensor.ParseTag(values[len(values)-1])
	return t, err == nil
}

// tagOf returns the tag in metadata.
func tagOf(md metadata.MD) (sensor.Tag, bool) { return last(md[Key]) }

// numbered returns the number of the n-th message of the stream that a tag names: as random as the tag, by the finalizer of
// SplitMix64, and never 0.
func numbered(t sensor.Tag, n uint64) uint64 {
	x := t.ID() + n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return max(1, x^x>>31)
}
