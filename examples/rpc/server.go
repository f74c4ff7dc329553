package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	protocol "google.golang.org/grpc/health/grpc_health_v1"

	"meridian/sensor"
	"meridian/sensor/sensorgrpc"
	"meridian/sensor/sensorhttp"
)

var compose = sensor.NewSlice("example", "compose")

// server answers until the context ends, and records itself. It prints its addresses.
func server(ctx context.Context, trace, byHTTP, byGRPC string) (err error) {
	stop, err := sensor.Record(trace, sensor.Options{Host: "server"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		s := compose.Begin()
		text := "hello, " + r.UserAgent()
		s.End()
		fmt.Fprint(w, text)
	})
	web := &http.Server{Handler: sensorhttp.Handler(mux)} // marks each request and its reply
	checks := grpc.NewServer(grpc.ChainUnaryInterceptor(sensorgrpc.UnaryServer), grpc.ChainStreamInterceptor(sensorgrpc.StreamServer))
	protocol.RegisterHealthServer(checks, health.NewServer())

	webSocket, err := net.Listen("tcp", byHTTP)
	if err != nil {
		return err
	}
	checksSocket, err := net.Listen("tcp", byGRPC)
	if err != nil {
		return errors.Join(err, webSocket.Close())
	}
	fmt.Printf("%v\n%v\n", webSocket.Addr(), checksSocket.Addr())

	ended := make(chan error, 2)
	go func() { ended <- web.Serve(webSocket) }()
	go func() { ended <- checks.Serve(checksSocket) }()
	select {
	case err = <-ended: // one cannot serve
	case <-ctx.Done():
	}
	checks.GracefulStop()
	return errors.Join(err, web.Close())
}
