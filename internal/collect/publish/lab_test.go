package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/wire"
	"meridian/trace"
)

// origin is when the hosts of these tests begin, ns since 1970.
const origin = 1_700_000_000_000_000_000

// Classes of the traces of these tests.
const (
	tick = iota // n
	call        // n; a slice
)

// recording is a trace of one host that grows in the directory of a session.
type recording struct {
	t     testing.TB
	dir   string
	files map[string][]byte
	sizes map[string]int
}

// record prepares the trace of a host.
func record(t testing.TB, stored, session, host string, events []trace.TimelineEvent) *recording {
	t.Helper()
	number := []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int, Bits: 64}}}
	schema := &trace.Schema{Hosts: []string{"as the trace says"}, Streams: []trace.Stream{{Name: "program", Host: "as the trace says", Kind: trace.Process, ID: 1, Parent: -1}},
		Classes: []trace.Class{{Name: "tick", Category: "test", Fields: number}, {Name: "call", Category: "test", Fields: number}}}
	whole := filepath.Join(t.TempDir(), "whole")
	w, err := ctf.NewWriter(whole, schema, ctf.WriterOptions{PacketSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := &recording{t: t, dir: filepath.Join(stored, session, host), files: make(map[string][]byte), sizes: make(map[string]int)}
	found, err := filepath.Glob(filepath.Join(whole, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if r.files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// grow writes the trace up to a share of it.
func (r *recording) grow(share float64) {
	r.t.Helper()
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{"metadata", "program"} {
		n := int(float64(len(r.files[name])) * share)
		if name == "metadata" {
			n = len(r.files[name])
		}
		f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
		if err == nil {
			_, err = f.Write(r.files[name][r.sizes[name]:n])
		}
		if err != nil {
			r.t.Fatal(err)
		}
		f.Close()
		r.sizes[name] = n
	}
}

// ticks are so many events, a millisecond apart.
func ticks(from, n int) (events []trace.TimelineEvent) {
	for i := from; i < from+n; i++ {
		at := int64(origin + i*1_000_000)
		events = append(events, trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Class: tick}, Time: clock.TimelineTime(at), Map: -1, Values: []trace.Value{trace.OfInt(int64(i))}})
	}
	return events
}

func startBroker(t testing.TB) *broker.Broker {
	t.Helper()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	c, err := nats.Connect(url, nats.Timeout(time.Minute), nats.ReconnectWait(5*time.Millisecond), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// start runs a publisher until the test or the returned function ends it.
func start(t testing.TB, o Options) (p *Publisher, stop func()) {
	t.Helper()
	if o.Log == nil {
		o.Log = t.Logf
	}
	if o.Latency == 0 {
		o.Latency = 2 * time.Millisecond
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return p, stop
}

// startLooked runs a publisher that has looked for sessions: what comes is new.
func startLooked(t testing.TB, o Options) *Publisher {
	t.Helper()
	record(t, o.Dir, "was there", "web", ticks(0, 1)).grow(1)
	p, _ := start(t, o)
	for p.timeline("was there") == nil {
		time.Sleep(time.Millisecond)
	}
	return p
}

// reader is a subscriber as docs/collection.md has it: what it missed follows from the numbers alone.
type reader struct {
	t        testing.TB
	timeline string
	next     uint64
	missed   []string
	begun    []string // identities of timelines
	numbers  []int64  // n of the events
	hosts    map[string]int
}

func header(t testing.TB, m *nats.Msg, name string) uint64 {
	n, err := strconv.ParseUint(m.Header.Get(name), 10, 64)
	if err != nil {
		t.Fatalf("%s: header %s: %v", m.Subject, name, err)
	}
	return n
}

func (r *reader) take(m *nats.Msg) {
	r.t.Helper()
	if r.hosts == nil {
		r.hosts = make(map[string]int)
	}
	if m.Header.Get(wire.HeaderFirst) == "" {
		return
	}
	first, events := header(r.t, m, wire.HeaderFirst), header(r.t, m, wire.HeaderEvents)
	if id := m.Header.Get(wire.HeaderTimeline); id != r.timeline {
		r.timeline, r.next = id, 0
		r.begun = append(r.begun, id)
	}
	if r.next != 0 && first != r.next {
		r.missed = append(r.missed, fmt.Sprintf("%d to %d", r.next, first-1))
	}
	r.next = first + events
	lines := strings.Split(strings.TrimSuffix(string(m.Data), "\n"), "\n")
	if len(m.Data) == 0 {
		lines = nil
	}
	if uint64(len(lines)) != events {
		r.t.Errorf("a message with %d lines says that it has %d events", len(lines), events)
	}
	for _, line := range lines {
		r.line(line)
	}
}

func (r *reader) line(line string) {
	r.t.Helper()
	var e struct {
		Host   string
		Event  string
		Fields struct{ N int64 }
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}
	r.numbers = append(r.numbers, e.Fields.N)
	r.hosts[e.Host]++
}

// await reads messages until a condition holds.
func (r *reader) await(sub *nats.Subscription, until func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !until() {
		m, err := sub.NextMsg(time.Until(deadline))
		if err != nil {
			r.t.Fatalf("%v after %d events", err, len(r.numbers))
		}
		r.take(m)
	}
}

func subscribe(t testing.TB, c *nats.Conn, session, what string) *nats.Subscription {
	t.Helper()
	sub, err := c.SubscribeSync(wire.OfSession(session, what))
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}
