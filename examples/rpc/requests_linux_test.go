package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"meridian/internal/netlab"
	"meridian/internal/testneed"
)

// The test's binary is also the helpers of the lab, and a client of gRPC in its namespace.
func init() {
	netlab.Helper()
	if address := os.Getenv("MERIDIAN_TEST_GRPC"); address != "" {
		if err := ask(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

const (
	checksInTurn = 30 // calls one after the other, and as many of a service that is not there
	checksAtOnce = 25 // more, at once over the same connection
)

// ask calls a server.
func ask(address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	checks := health.NewHealthClient(conn)
	check := func(service string, want codes.Code) error {
		if _, err := checks.Check(context.Background(), &health.HealthCheckRequest{Service: service}); status.Code(err) != want {
			return fmt.Errorf("service %q: %v, want %v", service, err, want)
		}
		return nil
	}
	for range checksInTurn {
		if err := errors.Join(check("", codes.OK), check("none", codes.NotFound)); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	failures := make([]error, checksAtOnce)
	for i := range checksAtOnce {
		all.Go(func() { failures[i] = check("", codes.OK) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// TestCallsOfACapturedServerAreThoseThatTsharkFinds has a server of grpc-go asked over a network of namespaces, captured by tcpdump on both
// hosts, and holds the methods and states that meridian requests prints against tshark's.
func TestCallsOfACapturedServerAreThoseThatTsharkFinds(t *testing.T) {
	testneed.Long(t, "builds and runs the command")
	lab := netlab.TwoHosts(t)
	web, db := lab.Capture("web", "-s", "0"), lab.Capture("db", "-s", "0")
	host := lab.Address("db", "web").String()
	serve := lab.Command("web", os.Args[0], "server", "-trace", filepath.Join(t.TempDir(), "server"), "-http", net.JoinHostPort(host, "8080"), "-grpc", net.JoinHostPort(host, "8081"))
	serve.Stderr = os.Stderr
	says, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(says); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(strings.TrimSpace(line), ":8081") {
			break
		}
	}
	client := lab.Command("db", os.Args[0])
	client.Env = append(os.Environ(), "MERIDIAN_TEST_GRPC="+net.JoinHostPort(host, "8081"))
	if out, err := client.CombinedOutput(); err != nil {
		t.Fatalf("client: %v: %s", err, out)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Fatal(err)
	}
	lab.StopCaptures()

	want := callsByTshark(t, db.File)
	if n := want["POST /grpc.health.v1.Health/Check"]; n != 2*checksInTurn+checksAtOnce || want["grpc 0"] != checksInTurn+checksAtOnce || want["grpc 5"] != checksInTurn {
		t.Fatalf("tshark finds %v", want)
	}
	for _, traces := range [][]string{{"web=" + web.File, "db=" + db.File}, {"db=" + db.File}, {"web=" + web.File}} {
		got := callsByMeridian(t, traces)
		if len(got) != len(want) {
			t.Errorf("%v: %v, tshark finds %v", traces, got, want)
		}
		for what, n := range want {
			if got[what] != n {
				t.Errorf("%v: %d of %q, tshark finds %d", traces, got[what], what, n)
			}
		}
	}
}

// callsByMeridian counts names and states of requests.
func callsByMeridian(t *testing.T, traces []string) map[string]int {
	t.Helper()
	var said bytes.Buffer
	c := exec.Command("meridian", append([]string{"requests", "--quiet", "--json", "--slowest", "1000"}, traces...)...)
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", c.Args, err, said.Bytes())
	}
	counts := make(map[string]int)
	for line := range strings.Lines(string(out)) {
		var r struct {
			Path struct {
				Request struct {
					Kind, Name, Status string
					Total              int64
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		x := r.Path.Request
		if x.Kind != "http2" || x.Total <= 0 {
			t.Errorf("%v: %+v", traces, x)
		}
		counts[x.Name]++
		counts[x.Status]++
	}
	return counts
}

// callsByTshark counts methods and states in the headers of HTTP/2.
func callsByTshark(t *testing.T, file string) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	for fields, count := range map[string]func(first, second string){
		"http2.headers.method http2.headers.path": func(method, path string) { counts[method+" "+path]++ },
		"http2.header.name http2.header.value": func(name, value string) {
			if name == "grpc-status" {
				counts["grpc "+value]++
			}
		},
	} {
		two := strings.Fields(fields)
		out, err := exec.Command(testneed.Program(t, "tshark"), "-r", file, "-d", "tcp.port==8081,http2", "-Y", two[0], "-T", "fields", "-E", "aggregator=;", "-e", two[0], "-e", two[1]).Output()
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			firsts, seconds, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
			values := strings.Split(seconds, ";")
			for i, first := range strings.Split(firsts, ";") {
				if i < len(values) {
					count(first, values[i])
				}
			}
		}
	}
	return counts
}
