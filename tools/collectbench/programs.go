//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"meridian/internal/collect/ship"
	"meridian/tools/ends"
)

// programs are those at the ends of the ways that are not Meridian's command. Each server prints its address.
var programs = map[string]func(args []string) error{
	"sink": sink, "push": push, "ship": shipDirectory, "jetstream": serveJetStream, "publish": publish,
}

// endFlags are those of all ends.
type endFlags struct {
	dir, to  string
	chunk    int64
	replicas int
}

func parse(args []string) (f endFlags) {
	set := flag.NewFlagSet("end", flag.ExitOnError)
	set.StringVar(&f.dir, "dir", "", "")
	set.StringVar(&f.to, "to", "", "")
	set.Int64Var(&f.chunk, "chunk", 0, "")
	set.IntVar(&f.replicas, "replicas", 1, "")
	_ = set.Parse(args) // it exits
	return f
}

// sink writes what a connection brings into a file and syncs never.
func sink(args []string) error {
	f := parse(args)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	out, err := os.Create(filepath.Join(f.dir, "sink"))
	if err != nil {
		return err
	}
	defer out.Close()
	// Neither side splices: the bytes of a real sink come from and go to buffers.
	if _, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{c}, make([]byte, f.chunk)); err != nil {
		return err
	}
	wait := untilSignal()
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	wait() // its processor time is read before it ends
	return nil
}

// untilSignal returns what waits until the bench ends this process, which it may do from now on.
func untilSignal() (wait func()) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	return func() {
		defer stop()
		<-ctx.Done()
	}
}

// each calls send with the chunks of all files.
func each(dir string, chunk int64, send func([]byte) error) error {
	names, err := filepath.Glob(filepath.Join(dir, "kernel_*"))
	if err != nil {
		return err
	}
	buffer := make([]byte, chunk)
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		for {
			n, err := io.ReadFull(f, buffer)
			if n > 0 {
				if err := send(buffer[:n]); err != nil {
					return errors.Join(err, f.Close())
				}
			}
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				break
			} else if err != nil {
				return errors.Join(err, f.Close())
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func push(args []string) error {
	f := parse(args)
	c, err := net.Dial("tcp", f.to)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := each(f.dir, f.chunk, func(b []byte) error { _, err := c.Write(b); return err }); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// host is the host of the trace, and session its session.
const host, session = "web", "bench"

// shipDirectory sends a directory as an agent does, until as many servers as are wanted have it on their disks.
func shipDirectory(args []string) error {
	f := parse(args)
	ended := make(chan struct{})
	close(ended)
	sum, err := ends.Ship(context.Background(), f.to, ship.Options{Host: host, Session: session, Dir: f.dir, Replicas: f.replicas, Chunk: f.chunk, Ended: ended})
	if err == nil && sum.Recorded == 0 {
		err = fmt.Errorf("%s has nothing to send", f.dir)
	}
	return err
}

// serveJetStream is a nats-server that syncs before it acknowledges.
func serveJetStream(args []string) error {
	f := parse(args)
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, MaxPayload: 2 << 20, MaxPending: 256 << 20,
		JetStream: true, StoreDir: f.dir, SyncAlways: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server does not listen")
	}
	wait := untilSignal()
	fmt.Println(s.ClientURL())
	wait()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// window is what is on the way to JetStream, bytes, as an agent's.
const window = 8 << 20

// publish sends the files as messages to a stream, until all are acknowledged.
func publish(args []string) error {
	f := parse(args)
	c, err := nats.Connect(f.to)
	if err != nil {
		return err
	}
	defer c.Close()
	var failed error
	js, err := jetstream.New(c, jetstream.WithPublishAsyncMaxPending(int(max(window/f.chunk, 1))), jetstream.WithPublishAsyncTimeout(time.Minute),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { failed = err }))
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "bench", Subjects: []string{"bench"}, Storage: jetstream.FileStorage}); err != nil {
		return err
	}
	if err := each(f.dir, f.chunk, func(b []byte) error {
		_, err := js.PublishAsync("bench", append([]byte(nil), b...), jetstream.WithStallWait(time.Minute))
		return err
	}); err != nil {
		return err
	}
	<-js.PublishAsyncComplete()
	return failed
}
