package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"meridian/sensor"
	"meridian/sensor/sensorgrpc"
	"meridian/sensor/sensorhttp"
)

// Events are declared once, by what they say.
var (
	round  = sensor.NewSlice1[int]("example", "round", "number")
	answer = sensor.NewEvent2[string, int]("example", "answer", "text", "bytes")
	done   = sensor.NewCounter("example", "done")
)

// client asks the server so many times each way, and records itself.
func client(ctx context.Context, trace, byHTTP, byGRPC string, calls int) (err error) {
	stop, err := sensor.Record(trace, sensor.Options{Host: "client"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	web := &http.Client{Transport: &sensorhttp.Transport{}} // tags each request
	conn, err := grpc.NewClient(byGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(sensorgrpc.UnaryClient),
		grpc.WithChainStreamInterceptor(sensorgrpc.StreamClient))
	if err != nil {
		return err
	}
	defer conn.Close()
	checks := health.NewHealthClient(conn)

	for i := range calls {
		s := round.Begin(i)
		if err := hello(ctx, web, "http://"+byHTTP+"/hello"); err != nil {
			return err
		}
		if _, err := checks.Check(ctx, &health.HealthCheckRequest{}); err != nil {
			return err
		}
		done.Add(1)
		s.End()
	}
	return nil
}

func hello(ctx context.Context, web *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	reply, err := web.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, reply.Status, body)
	}
	answer.Emit(string(body), len(body))
	return nil
}
