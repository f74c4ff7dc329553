// Rpc is an example: a client and a server that talk by HTTP and gRPC, each a process that records itself with package
// sensor, and what Meridian makes of their two traces.
//
//	client --- GET /hello --->  server        client/   server/     traces in CTF 1.8, beside each other
//	       --- Health/Check -->                      |
//	                                     aligned as two hosts: table, timeline
//
//	go run ./examples/rpc [-calls 200] [-dir DIR]
//
// runs both and aligns their traces by meridian align client server. To have them on two machines, start them by hand:
//
//	there    rpc server -trace server -http :8080 -grpc :8081          until it is interrupted
//	here     rpc client -trace client -http there:8080 -grpc there:8081
//
// client.go and server.go are what a program needs; this file starts them.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rpc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	role := ""
	if len(args) > 0 && (args[0] == "server" || args[0] == "client") {
		role, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("rpc "+role, flag.ExitOnError)
	calls := flags.Int("calls", 200, "how many requests by HTTP, and as many by gRPC")
	if role == "" {
		dir := flags.String("dir", "", "where the traces go and stay; empty: a new temporary directory")
		_ = flags.Parse(args)
		return play(ctx, *dir, *calls)
	}
	trace := flags.String("trace", role, "the directory for the trace, which must not be there yet")
	byHTTP := flags.String("http", "localhost:0", "address for HTTP")
	byGRPC := flags.String("grpc", "localhost:0", "address for gRPC")
	_ = flags.Parse(args)
	if role == "client" {
		return client(ctx, *trace, *byHTTP, *byGRPC, *calls)
	}
	return server(ctx, *trace, *byHTTP, *byGRPC)
}

// play runs the server and the client as processes of their own, aligns their traces and prints the table.
func play(ctx context.Context, dir string, calls int) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "meridian-rpc"); err != nil {
			return err
		}
	}
	if err := record(ctx, dir, calls); err != nil {
		return err
	}
	client, server, timeline := filepath.Join(dir, "client"), filepath.Join(dir, "server"), filepath.Join(dir, "timeline.pftrace")
	align := meridian(ctx, "align", client, server, "-o", timeline, "-o", filepath.Join(dir, "report.json"))
	align.Stdout, align.Stderr = os.Stdout, os.Stderr
	if err := align.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(align.Args, " "), err)
	}
	fmt.Printf(`
Both processes ran on this machine and have one clock, so the true offset is about 0, and lies within the bound. The client's %d
requests and as many replies are the messages. Their arrows are in %s: open it in https://ui.perfetto.dev.
The traces are %s and %s: meridian align and babeltrace2 read them.
`, 2*calls, timeline, client, server)
	return nil
}

// meridian returns the command of that name: the installed one, or that of this checkout.
func meridian(ctx context.Context, args ...string) *exec.Cmd {
	if path, err := exec.LookPath("meridian"); err == nil {
		return exec.CommandContext(ctx, path, args...)
	}
	return exec.CommandContext(ctx, "go", append([]string{"run", "meridian/cmd/meridian"}, args...)...)
}

// record lets a client and a server talk, whose traces are then in dir.
func record(ctx context.Context, dir string, calls int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := exec.CommandContext(ctx, self, "server", "-trace", filepath.Join(dir, "server"))
	start.Stderr = os.Stderr
	start.Cancel = func() error { return start.Process.Signal(os.Interrupt) } // it completes its trace
	said, err := start.StdoutPipe()
	if err != nil {
		return err
	}
	if err := start.Start(); err != nil {
		return err
	}
	talked := talk(ctx, self, bufio.NewReader(said), filepath.Join(dir, "client"), calls)
	_ = start.Cancel()
	if err := start.Wait(); err != nil && talked == nil {
		return fmt.Errorf("server: %w", err)
	}
	return talked
}

// talk runs the client with the addresses that the server says.
func talk(ctx context.Context, self string, server *bufio.Reader, trace string, calls int) error {
	var addresses [2]string
	for i := range addresses {
		line, err := server.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the server ended before it said its addresses: %w", err)
		}
		addresses[i] = strings.TrimSpace(line)
	}
	c := exec.CommandContext(ctx, self, "client", "-trace", trace, "-calls", strconv.Itoa(calls), "-http", addresses[0], "-grpc", addresses[1])
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		return fmt.Errorf("client: %w: %s", err, out.Bytes())
	}
	_, err := io.Copy(os.Stdout, &out)
	return err
}
