package sensorgrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	protocol "google.golang.org/grpc/health/grpc_health_v1"

	"meridian/sensor"
	"meridian/sensor/sensorgrpc"
)

// A server and a client that tag their calls. Usually they are two processes, each with a recording of its own.
func Example() {
	dir, err := os.MkdirTemp("", "sensorgrpc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stop, err := sensor.Record(filepath.Join(dir, "trace"), sensor.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(sensorgrpc.UnaryServer),
		grpc.ChainStreamInterceptor(sensorgrpc.StreamServer))
	protocol.RegisterHealthServer(server, health.NewServer())
	socket, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(socket)

	conn, err := grpc.NewClient(socket.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(sensorgrpc.UnaryClient),
		grpc.WithChainStreamInterceptor(sensorgrpc.StreamClient))
	if err != nil {
		log.Fatal(err)
	}
	reply, err := protocol.NewHealthClient(conn).Check(context.Background(), &protocol.HealthCheckRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.GetStatus())

	conn.Close()
	server.Stop()
	if err := stop(); err != nil {
		log.Fatal(err)
	}
	// Output: SERVING
}
