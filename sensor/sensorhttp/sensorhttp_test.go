package sensorhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"meridian/sensor"
	"meridian/sensor/internal/testtrace"
)

// during records what happens while a function runs.
func during(t *testing.T, what func()) testtrace.Events {
	t.Helper()
	return testtrace.During(t, func(dir string) (func() error, error) {
		return sensor.Record(dir, sensor.Options{Dir: t.TempDir()})
	}, what)
}

// serve starts a server whose handlers are wrapped, and a client with a transport of its own.
func serve(t *testing.T, h http.HandlerFunc) (url string, client *http.Client) {
	t.Helper()
	s := httptest.NewServer(Handler(h))
	t.Cleanup(s.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return s.URL, &http.Client{Transport: &Transport{Base: base}}
}

// get sends a request and reads the reply to its end.
func get(t testing.TB, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r, string(body)
}

func wantMessages(t *testing.T, all testtrace.Events, n int) {
	t.Helper()
	for _, name := range []string{"request", "reply"} {
		if got := all.Messages("http", name); got != (testtrace.Tally{Whole: n}) {
			t.Errorf("%s: %+v, want %d whole ones", name, got, n)
		}
	}
}

func TestEveryRequestIsTwoMessagesAndASliceOnBothSides(t *testing.T) {
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	const each, at = 20, 5
	all := during(t, func() {
		var done sync.WaitGroup
		for range at {
			done.Add(1)
			go func() {
				defer done.Done()
				for range each {
					get(t, client, url+"/tea/pot?secret=1")
				}
			}()
		}
		done.Wait()
	})
	wantMessages(t, all, each*at)
	for _, side := range []struct{ slice, ended string }{{"call", "called"}, {"serve", "served"}} {
		open := map[uint64]bool{}
		for _, e := range all.Of("http", side.slice, testtrace.Begin) {
			open[e.Slice] = true
			if e.Text("method") != "GET" || e.Text("path") != "/tea/pot" {
				t.Fatalf("%s: %v", side.slice, e.Values)
			}
		}
		if len(open) != each*at {
			t.Fatalf("%d slices %s begin, want %d", len(open), side.slice, each*at)
		}
		said := all.Of("http", side.ended, testtrace.Instant)
		for _, e := range said {
			if e.Text("status") != "418" {
				t.Fatalf("%s: %v", side.ended, e.Values)
			}
		}
		ends := all.Of("http", side.slice, testtrace.End)
		for _, e := range ends {
			delete(open, e.Slice)
		}
		if len(said) != each*at || len(ends) != each*at || len(open) > 0 {
			t.Errorf("%d slices %s end, %d say how, %d never do", len(ends), side.slice, len(said), len(open))
		}
	}
}

func TestNothingIsSentOrMarkedWhenSwitchedOff(t *testing.T) {
	var seen http.Header
	url, client := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() })
	check := func(when string) {
		r, _ := get(t, client, url)
		if seen.Get(Header) != "" || r.Header.Get(Header) != "" {
			t.Errorf("%s: tags %q and %q", when, seen.Get(Header), r.Header.Get(Header))
		}
	}
	check("not started")
	all := during(t, func() {
		sensor.Disable("http")
		defer sensor.Enable("http")
		check("switched off")
	})
	for _, e := range all {
		if e.Category == "http" {
			t.Errorf("event %s", e.Name)
		}
	}
}

func TestOtherHeadersGoThroughAndTheRequestStaysAsItWas(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	var seen http.Header
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		w.Header().Set("Traceparent", r.Header.Get("Traceparent"))
	})
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", parent)
	r.Header.Set("Tracestate", "congo=t61rcWkgMzE")
	during(t, func() {
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.Header.Get("Traceparent") != parent {
			t.Errorf("the reply has traceparent %q", reply.Header.Get("Traceparent"))
		}
	})
	if seen.Get("Traceparent") != parent || seen.Get("Tracestate") != "congo=t61rcWkgMzE" {
		t.Errorf("the server saw %v", seen)
	}
	if seen.Get(Header) == "" || r.Header.Get(Header) != "" {
		t.Errorf("tag %q at the server, %q in the caller's request", seen.Get(Header), r.Header.Get(Header))
	}
}

func TestNoReplyIsTaggedWithoutATaggedRequest(t *testing.T) {
	url, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, tags := range [][]string{nil, {"gibberish"}, {sensor.NewTag().String(), sensor.NewTag().String()}} {
		r, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[Header] = tags
		all := during(t, func() {
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			reply.Body.Close()
			if got := reply.Header.Get(Header); got != "" {
				t.Errorf("%v: replied with tag %q", tags, got)
			}
		})
		if n := all.Messages("http", "request"); n != (testtrace.Tally{}) {
			t.Errorf("%v: %+v", tags, n)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestEveryWayOfReplyingIsMarkedOnceWithItsStatus(t *testing.T) {
	for _, test := range []struct {
		name   string
		reply  func(w http.ResponseWriter)
		status string
		body   string
	}{
		{"nothing", func(http.ResponseWriter) {}, "200", ""},
		{"write", func(w http.ResponseWriter) { fmt.Fprint(w, "a"); fmt.Fprint(w, "b") }, "200", "ab"},
		{"status", func(w http.ResponseWriter) { http.Error(w, "no", http.StatusNotFound) }, "404", "no\n"},
		{"early hints", func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
		}, "202", ""},
		{"no content", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, "204", ""},
		{"flush", func(w http.ResponseWriter) { w.(http.Flusher).Flush(); fmt.Fprint(w, "late") }, "200", "late"},
		{"controller", func(w http.ResponseWriter) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}, "200", ""},
		{"copy", func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("copied")) }, "200", "copied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			url, client := serve(t, func(w http.ResponseWriter, _ *http.Request) { test.reply(w) })
			all := during(t, func() {
				if _, body := get(t, client, url); body != test.body {
					t.Errorf("body %q", body)
				}
			})
			wantMessages(t, all, 1)
			if served := all.Of("http", "served", testtrace.Instant); len(served) != 1 || served[0].Text("status") != test.status {
				t.Errorf("%+v, want status %s", served, test.status)
			}
		})
	}
}

func TestAHandlerThatPanicsOrTakesTheConnectionOverEndsItsSliceWithoutReply(t *testing.T) {
	for name, end := range map[string]func(w http.ResponseWriter){
		"panic": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"hijack": func(w http.ResponseWriter) {
			conn, b, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			b.Flush()
			conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			marked := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { end(w) }))
			left := make(chan struct{}, 9) // the client may know that the connection is closed before the handler has ended
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { left <- struct{}{} }()
				marked.ServeHTTP(w, r)
			}))
			defer s.Close()
			client := &http.Client{Transport: &Transport{Base: &http.Transport{DisableKeepAlives: true}}}
			all := during(t, func() {
				if r, err := client.Get(s.URL); err == nil {
					r.Body.Close()
				}
				<-left
			})
			if n := all.Messages("http", "reply"); n != (testtrace.Tally{}) {
				t.Errorf("replies: %+v", n)
			}
			if begun, ended := all.Of("http", "serve", testtrace.Begin), all.Of("http", "serve", testtrace.End); len(begun) == 0 || len(begun) != len(ended) {
				t.Errorf("%d slices begun, %d ended", len(begun), len(ended))
			}
		})
	}
}

func TestARequestThatIsSentAgainHasOneSender(t *testing.T) {
	var n int
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	server := httptest.NewServer(Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 2 { // the second request meets a connection that breaks before its reply
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		}
	})))
	defer server.Close()
	client := &http.Client{Transport: &Transport{Base: base}}
	all := during(t, func() {
		get(t, client, server.URL)
		get(t, client, server.URL) // is idempotent, and sent again by net/http
	})
	if n != 3 {
		t.Fatalf("the server saw %d requests, want 3: one of two sent again", n)
	}
	sent := map[uint64]int{}
	for _, e := range all.Of("http", "request", testtrace.Instant) {
		if e.Role == testtrace.Sends {
			sent[e.Flow]++
		}
	}
	if len(sent) != 2 {
		t.Errorf("%d tags were sent, want 2", len(sent))
	}
	for _, times := range sent {
		if times != 1 {
			t.Errorf("a tag was sent %d times", times)
		}
	}
	if replies := all.Messages("http", "reply"); replies != (testtrace.Tally{Whole: 2}) {
		t.Errorf("replies %+v", replies)
	}
}

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no way") }

func TestAnErrorOfTheTransportEndsTheSliceAndIsReturned(t *testing.T) {
	client := &http.Client{Transport: &Transport{Base: unreachable{}}}
	all := during(t, func() {
		if _, err := client.Get("http://nowhere/"); err == nil || !strings.Contains(err.Error(), "no way") {
			t.Error(err)
		}
	})
	if n := len(all.Of("http", "call", testtrace.End)); n != 1 {
		t.Errorf("%d slices ended", n)
	}
}

func TestHTTP2IsMarkedAsWell(t *testing.T) {
	s := httptest.NewUnstartedServer(Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
		if _, ok := w.(http.Pusher); !ok {
			t.Error("no http.Pusher")
		}
		w.(http.Flusher).Flush()
	})))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	client := s.Client()
	client.Transport = &Transport{Base: client.Transport}
	all := during(t, func() {
		for range 5 {
			get(t, client, s.URL)
		}
	})
	wantMessages(t, all, 5)
}

func TestAWriterHasTheAbilitiesOfTheOneBelow(t *testing.T) {
	for name, w := range map[string]http.ResponseWriter{
		"bare": bare{}, "recorder": httptest.NewRecorder(),
	} {
		x := (&writer{ResponseWriter: w}).wrap()
		_, flushes := w.(http.Flusher)
		if _, ok := x.(http.Flusher); ok != flushes {
			t.Errorf("%s: flushes %t, ours %t", name, flushes, ok)
		}
		if _, ok := x.(http.Hijacker); ok {
			t.Errorf("%s: hijacks", name)
		}
		if _, ok := x.(io.ReaderFrom); ok {
			t.Errorf("%s: copies", name)
		}
	}
}

type bare struct{ http.ResponseWriter }

// Costs of the middleware alone, without a network.

func BenchmarkHandler(b *testing.B) {
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	r := httptest.NewRequest("GET", "/a/path", nil)
	r.Header[Header] = []string{sensor.NewTag().String()}
	w := &nowhere{h: http.Header{}}
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(w, r)
		}
	}
	b.Run("off", run)
	b.Run("on", func(b *testing.B) { started(b); run(b) })
}

func BenchmarkTransport(b *testing.B) {
	t := &Transport{Base: here{&http.Response{StatusCode: http.StatusOK, Header: http.Header{Header: {sensor.NewTag().String()}}}}}
	r, err := http.NewRequestWithContext(context.Background(), "GET", "http://host/a/path", nil)
	if err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := t.RoundTrip(r); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("off", run)
	b.Run("on", func(b *testing.B) { started(b); run(b) })
}

func started(b *testing.B) {
	if err := sensor.Start(sensor.Options{Dir: b.TempDir(), Overwrite: true}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sensor.Stop() })
}

type nowhere struct{ h http.Header }

func (w *nowhere) Header() http.Header         { return w.h }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) WriteHeader(int)             {}

type here struct{ reply *http.Response }

func (h here) RoundTrip(*http.Request) (*http.Response, error) { return h.reply, nil }
