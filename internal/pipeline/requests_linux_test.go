package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/show/view"
	"meridian/internal/testneed"
)

// The test's binary is also the client and the server, in their namespaces.
func init() {
	address := os.Getenv("MERIDIAN_TEST_HTTP")
	if address == "" {
		return
	}
	err := httpClient(address)
	if os.Getenv("MERIDIAN_TEST_HTTP_SERVES") != "" {
		err = httpServer(address)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// httpServer serves HTTP/1 and HTTP/2, without TLS, until its standard input ends.
func httpServer(address string) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasPrefix(r.URL.Path, "/none") {
			w.WriteHeader(404)
		}
		_, _ = w.Write(make([]byte, 2000))
	})}
	fmt.Println("ready")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

const (
	httpOne  = 40 // requests one after the other, on one connection
	httpTwo  = 40 // at once, on another
	httpPipe = 10 // without waiting for answers, on a third
)

func httpClient(address string) error {
	var one, two http.Protocols
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	get := func(t *http.Transport, path string) error {
		r, err := http.NewRequest("POST", "http://"+address+path, strings.NewReader(strings.Repeat("x", 3000)))
		if err != nil {
			return err
		}
		a, err := t.RoundTrip(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, a.Body)
		return errors.Join(err, a.Body.Close())
	}
	first := &http.Transport{Protocols: &one}
	for i := range httpOne {
		if err := get(first, fmt.Sprintf("/one/%d", i)); err != nil {
			return err
		}
	}
	second := &http.Transport{Protocols: &two}
	if err := get(second, "/none"); err != nil {
		return err
	}
	var all sync.WaitGroup
	failures := make([]error, httpTwo)
	for i := range httpTwo {
		all.Go(func() { failures[i] = get(second, fmt.Sprintf("/two/%d", i)) })
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range httpPipe {
		if _, err := fmt.Fprintf(c, "GET /piped/%d HTTP/1.1\r\nHost: x\r\nConnection: %s\r\n\r\n", i, map[bool]string{true: "close", false: "keep-alive"}[i == httpPipe-1]); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, c)
	return err
}

// talk starts the server, lets the client ask, and stops it.
func talkHTTP(t *testing.T, lab *netlab.Lab, server, client string) {
	t.Helper()
	address := net.JoinHostPort(lab.Address(client, server).String(), "8080")
	serve := lab.Command(server, os.Args[0])
	serve.Env = append(os.Environ(), "MERIDIAN_TEST_HTTP="+address, "MERIDIAN_TEST_HTTP_SERVES=1")
	stop, err := serve.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := says.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	ask := lab.Command(client, os.Args[0])
	ask.Env = append(os.Environ(), "MERIDIAN_TEST_HTTP="+address)
	if out, err := ask.CombinedOutput(); err != nil {
		t.Fatalf("client: %v: %s", err, out)
	}
	stop.Close()
	if err := serve.Wait(); err != nil {
		t.Fatal(err)
	}
}

// requestsOf returns the requests of traces.
func requestsOf(t *testing.T, traces ...string) *view.RequestList {
	t.Helper()
	inputs, err := input.Parse(traces)
	if err != nil {
		t.Fatal(err)
	}
	timeline, _, err := pipeline.View(context.Background(), inputs, pipeline.Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer timeline.Close()
	list, err := timeline.Requests(view.RequestQuery{Sort: "begin", Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// tsharkRequests returns the names of the requests that tshark finds in a capture.
func tsharkRequests(t *testing.T, file string) (names []string) {
	t.Helper()
	for _, x := range [][3]string{{"http.request", "http.request.method", "http.request.uri"}, {"http2.headers.method", "http2.headers.method", "http2.headers.path"}} {
		out, err := exec.Command(testneed.Program(t, "tshark"), "-r", file, "-Y", x[0], "-T", "fields", "-e", x[1], "-e", x[2]).Output()
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			methods, paths, _ := strings.Cut(strings.TrimSpace(line), "\t")
			all := strings.Split(paths, ",")
			for i, m := range strings.Split(methods, ",") {
				names = append(names, m+" "+all[i])
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestRequestsOfHTTPAreThoseThatTsharkFinds(t *testing.T) {
	const step = 1000 // ns of tcpdump's stamps
	lab := netlab.TwoHosts(t)
	web, db := lab.Capture("web", "-s", "0"), lab.Capture("db", "-s", "0")
	talkHTTP(t, lab, "web", "db")
	lab.StopCaptures()
	want := tsharkRequests(t, db.File)
	if len(want) != httpOne+httpTwo+httpPipe+1 {
		t.Fatalf("tshark finds %d requests of %d: %q", len(want), httpOne+httpTwo+httpPipe+1, want)
	}
	for _, traces := range [][]string{{"web=" + web.File, "db=" + db.File}, {"db=" + db.File}, {"web=" + web.File}} {
		list := requestsOf(t, traces...)
		var names []string
		for _, r := range list.Requests {
			names = append(names, r.Name)
			status := "200"
			if r.Name == "POST /none" {
				status = "404"
			}
			if r.Status != status || r.Total <= 0 {
				t.Errorf("%v: %+v", traces, r)
			}
			if alone := len(traces) == 1; r.Alone != alone || r.Peer == "" {
				t.Errorf("%v: alone is wrong of %+v", traces, r)
			}
			if !r.Alone && !r.Overlapping && (r.Network < -2*step || r.ServerTime < -2*step || r.Network+r.ServerTime+r.ClientTime+r.Transfer != r.Total) {
				t.Errorf("%v: parts of %+v", traces, r)
			}
			if r.Overlapping && strings.Contains(r.Name, "/one/") {
				t.Errorf("%v: %+v overlaps", traces, r)
			}
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%v: %d requests %q, tshark has %d: %q", traces, len(names), names, len(want), want)
		}
	}
}

func TestRequestsOfManyConnectionsAreToldApartAndLostPacketsMarked(t *testing.T) {
	lab := netlab.TwoHosts(t)
	web, db := lab.Capture("web", "-s", "96"), lab.Capture("db", "-s", "96")
	lab.Loss("db", 8)
	const connections, each = 8, 15
	address := net.JoinHostPort(lab.Address("db", "web").String(), "8080")
	serve := lab.Command("web", os.Args[0])
	serve.Env = append(os.Environ(), "MERIDIAN_TEST_LINES="+address, "MERIDIAN_TEST_LINES_SERVES=1")
	says, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := says.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	ask := lab.Command("db", os.Args[0])
	ask.Env = append(os.Environ(), "MERIDIAN_TEST_LINES="+address, fmt.Sprintf("MERIDIAN_TEST_LINES_ASKS=%d %d", connections, each))
	if out, err := ask.CombinedOutput(); err != nil {
		t.Fatalf("client: %v: %s", err, out)
	}
	if err := serve.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serve.Wait() // it was killed
	lab.StopCaptures()
	list := requestsOf(t, "web="+web.File, "db="+db.File)
	again, overlap := 0, 0
	for _, r := range list.Requests {
		if again += r.Again; r.Overlapping {
			overlap++
		}
		if r.Kind != "exchange" || r.Total <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if list.Count != connections*each || overlap > 0 {
		t.Errorf("%d requests of %d, %d of them overlap", list.Count, connections*each, overlap)
	}
	if again == 0 {
		t.Error("of 8 percent lost, no packet was sent again")
	}
}

// Lines of bytes that are not HTTP: a client asks over several connections at once.
func init() {
	address := os.Getenv("MERIDIAN_TEST_LINES")
	if address == "" {
		return
	}
	if os.Getenv("MERIDIAN_TEST_LINES_SERVES") != "" {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			os.Exit(1)
		}
		fmt.Println("ready")
		for {
			c, err := listener.Accept()
			if err != nil {
				os.Exit(1)
			}
			go func() {
				b := make([]byte, 100)
				for {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
					_, _ = c.Write(b)
				}
			}()
		}
	}
	var connections, each int
	_, _ = fmt.Sscan(os.Getenv("MERIDIAN_TEST_LINES_ASKS"), &connections, &each)
	var all sync.WaitGroup
	failures := make([]error, connections)
	for k := range connections {
		all.Go(func() {
			c, err := net.Dial("tcp", address)
			b := make([]byte, 100)
			for i := 0; i < each && err == nil; i++ {
				if _, err = c.Write(b); err == nil {
					_, err = io.ReadFull(c, b)
				}
			}
			failures[k] = err
		})
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
