package sensorgrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// number is the message of all methods.
type number = wrapperspb.Int64Value

func of(n int64) *number { return wrapperspb.Int64(n) }

// tester is a service with a method of every kind; each fails where the number is negative.
type tester struct {
	met  atomic.Pointer[metadata.MD] // what the last call came with
	held chan struct{}               // closed when a stream may end
}

func (s *tester) seen() metadata.MD { return *s.met.Load() }

func (s *tester) check(ctx context.Context, n *number) error {
	md, _ := metadata.FromIncomingContext(ctx)
	s.met.Store(&md)
	if n.GetValue() < 0 {
		return status.Error(codes.OutOfRange, "negative")
	}
	return nil
}

// one answers one number by its double.
func (s *tester) one(ctx context.Context, n *number) (*number, error) {
	return of(2 * n.GetValue()), s.check(ctx, n)
}

// down sends as many numbers as it is told to.
func (s *tester) down(stream grpc.ServerStream) error {
	var n number
	if err := stream.RecvMsg(&n); err != nil {
		return err
	}
	for i := range n.GetValue() {
		if err := stream.SendMsg(of(i)); err != nil {
			return err
		}
	}
	return s.check(stream.Context(), &n)
}

// up sums up what it gets.
func (s *tester) up(stream grpc.ServerStream) error {
	var sum int64
	for {
		var n number
		if err := stream.RecvMsg(&n); errors.Is(err, io.EOF) {
			return stream.SendMsg(of(sum))
		} else if err != nil {
			return err
		}
		if err := s.check(stream.Context(), &n); err != nil {
			return err
		}
		sum += n.GetValue()
	}
}

// both sends back what it gets.
func (s *tester) both(stream grpc.ServerStream) error {
	for {
		var n number
		if err := stream.RecvMsg(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := errors.Join(s.check(stream.Context(), &n), stream.SendMsg(&n)); err != nil {
			return err
		}
	}
}

// hold says nothing until it may end.
func (s *tester) hold(stream grpc.ServerStream) error {
	var n number
	if err := stream.RecvMsg(&n); err != nil {
		return err
	}
	<-s.held
	return nil
}

const service = "meridian.test.Numbers"

var (
	downDesc = grpc.StreamDesc{StreamName: "Down", ServerStreams: true, Handler: func(s any, x grpc.ServerStream) error { return s.(*tester).down(x) }}
	upDesc   = grpc.StreamDesc{StreamName: "Up", ClientStreams: true, Handler: func(s any, x grpc.ServerStream) error { return s.(*tester).up(x) }}
	bothDesc = grpc.StreamDesc{StreamName: "Both", ServerStreams: true, ClientStreams: true, Handler: func(s any, x grpc.ServerStream) error { return s.(*tester).both(x) }}
	holdDesc = grpc.StreamDesc{StreamName: "Hold", ServerStreams: true, Handler: func(s any, x grpc.ServerStream) error { return s.(*tester).hold(x) }}
)

var description = grpc.ServiceDesc{
	ServiceName: service, HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "One", Handler: func(s any, ctx context.Context, decode func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
		n := new(number)
		if err := decode(n); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, n any) (any, error) { return s.(*tester).one(ctx, n.(*number)) }
		if through == nil {
			return handle(ctx, n)
		}
		return through(ctx, n, &grpc.UnaryServerInfo{Server: s, FullMethod: "/" + service + "/One"}, handle)
	}}},
	Streams: []grpc.StreamDesc{downDesc, upDesc, bothDesc, holdDesc},
}

// start starts the service in this process and returns it with a connection to it.
func start(t testing.TB, server []grpc.ServerOption, client []grpc.DialOption) (*tester, *grpc.ClientConn) {
	t.Helper()
	wire := bufconn.Listen(1 << 16)
	s, x := grpc.NewServer(server...), &tester{held: make(chan struct{})}
	s.RegisterService(&description, x)
	served := make(chan error, 1)
	go func() { served <- s.Serve(wire) }()
	client = append(client, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return wire.Dial() }))
	conn, err := grpc.NewClient("passthrough:///numbers", client...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return x, conn
}

var (
	ourServer = []grpc.ServerOption{grpc.ChainUnaryInterceptor(UnaryServer), grpc.ChainStreamInterceptor(StreamServer)}
	ourClient = []grpc.DialOption{grpc.WithChainUnaryInterceptor(UnaryClient), grpc.WithChainStreamInterceptor(StreamClient)}
)

// openStream begins a stream.
func openStream(t testing.TB, ctx context.Context, conn *grpc.ClientConn, d *grpc.StreamDesc) grpc.ClientStream {
	t.Helper()
	s, err := conn.NewStream(ctx, d, "/"+service+"/"+d.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sendAll sends numbers and then says that there are no more.
func sendAll(t testing.TB, s grpc.ClientStream, numbers ...int64) {
	t.Helper()
	for _, n := range numbers {
		if err := s.SendMsg(of(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

// receiveAll receives until the end and returns how the stream ended.
func receiveAll(s grpc.ClientStream) (numbers []int64, end error) {
	for {
		var n number
		if err := s.RecvMsg(&n); errors.Is(err, io.EOF) {
			return numbers, nil
		} else if err != nil {
			return numbers, err
		}
		numbers = append(numbers, n.GetValue())
	}
}
