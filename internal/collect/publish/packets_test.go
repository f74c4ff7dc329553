package publish

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/wire"
	"meridian/internal/testneed"
)

// packetReader is a subscriber of packets as docs/collection.md has it: what arrives becomes a trace.
type packetReader struct {
	reader
	c                *nats.Conn
	metadata, stream bytes.Buffer
	events           uint64
}

func (p *packetReader) take(m *nats.Msg) {
	p.t.Helper()
	if m.Header.Get(wire.HeaderFirst) == "" {
		return
	}
	first, events := header(p.t, m, wire.HeaderFirst), header(p.t, m, wire.HeaderEvents)
	p.timeline = m.Header.Get(wire.HeaderTimeline)
	if p.next != 0 && first != p.next {
		p.missed = append(p.missed, fmt.Sprintf("%d to %d", p.next, first-1))
	}
	p.next = first + events
	if events == 0 {
		return
	}
	p.events += events
	for need := int(header(p.t, m, wire.HeaderMetadata)); p.metadata.Len() < need; {
		answer, err := p.c.Request(wire.MetadataOf(p.timeline), strconv.AppendInt(nil, int64(p.metadata.Len()), 10), time.Minute)
		if err != nil || answer.Header.Get(micro.ErrorHeader) != "" || len(answer.Data) == 0 {
			p.t.Fatalf("metadata from %d on: %v, %v", p.metadata.Len(), answer, err)
		}
		p.metadata.Write(answer.Data)
	}
	p.stream.Write(m.Data)
}

// babeltrace returns the lines of the trace that has arrived, and what is said beside them.
func (p *packetReader) babeltrace() (lines []string, said string) {
	p.t.Helper()
	dir := p.t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "metadata"), p.metadata.Bytes(), 0o666)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stream"), p.stream.Bytes(), 0o666)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.Command(testneed.Program(p.t, "babeltrace2"), dir)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("babeltrace2: %v: %s", err, problems.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), problems.String()
}

func (p *packetReader) await(sub *nats.Subscription, until func() bool) {
	p.t.Helper()
	for !until() {
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			p.t.Fatalf("%v after %d events", err, p.events)
		}
		p.take(m)
	}
}

func TestPacketsOfASubscriberAreATraceThatBabeltraceReads(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	stored := t.TempDir()
	startLooked(t, Options{Dir: stored, Conn: connect(t, b.URL()), Server: "s"})
	p := &packetReader{reader: reader{t: t}, c: connect(t, b.URL())}
	sub := subscribe(t, p.c, "night", wire.EventsCTF)
	text := &reader{t: t}
	lines := subscribe(t, connect(t, b.URL()), "night", wire.EventsJSON)
	const events = 2000
	web, db := record(t, stored, "night", "web", ticks(0, events)), record(t, stored, "night", "db", ticks(0, events))
	for i := range 20 {
		web.grow(float64(i+1) / 20)
		db.grow(float64(i+1) / 20)
		time.Sleep(2 * time.Millisecond)
	}
	p.await(sub, func() bool { return p.events >= 2*events })
	text.await(lines, func() bool { return len(text.numbers) >= 2*events })
	if p.next != 2*events+1 || len(p.missed) > 0 || text.next != p.next || text.timeline != p.timeline {
		t.Errorf("the next event is %d as packets and %d as lines, missed %q", p.next, text.next, p.missed)
	}
	got, said := p.babeltrace()
	if said != "" || len(got) != 2*events {
		t.Fatalf("%d lines, %s", len(got), said)
	}
	hosts := map[bool]int{}
	for i, n := range text.numbers { // the order is the same
		if !strings.HasSuffix(got[i], fmt.Sprintf("{ n = %d }", n)) {
			t.Fatalf("line %d: want n = %d: %s", i, n, got[i])
		}
		hosts[strings.Contains(got[i], `host = "web"`)]++
	}
	if hosts[true] != events || hosts[false] != events {
		t.Errorf("%d lines of web, %d of others", hosts[true], hosts[false])
	}
}

// What a subscriber of packets missed follows from the headers, and for those who have the trace alone from the packets.
func TestAMissedPacketIsToldByHeadersAndByTheTrace(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	stored := t.TempDir()
	startLooked(t, Options{Dir: stored, Conn: connect(t, b.URL())})
	p := &packetReader{reader: reader{t: t}, c: connect(t, b.URL())}
	sub := subscribe(t, p.c, "night", wire.EventsCTF)
	const events = 4000
	record(t, stored, "night", "web", ticks(0, events)).grow(1)
	var lost *nats.Msg
	for p.next < events+1 {
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if p.events > 0 && lost == nil && header(t, m, wire.HeaderEvents) > 0 {
			lost = m
			continue
		}
		p.take(m)
	}
	if lost == nil || len(p.missed) != 1 {
		t.Fatalf("missed %q; want what one message had", p.missed)
	}
	first := header(t, lost, wire.HeaderFirst)
	if want := fmt.Sprintf("%d to %d", first, first+header(t, lost, wire.HeaderEvents)-1); p.missed[0] != want {
		t.Errorf("missed %q, want %s", p.missed, want)
	}
	if lines, said := p.babeltrace(); len(lines) != int(p.events) || !strings.Contains(said+strings.Join(lines, ""), "packet") {
		t.Errorf("%d lines of %d events; nothing is said of the packet that is not there: %s", len(lines), p.events, said)
	}
}

func TestMetadataThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	stored := t.TempDir()
	publisher := startLooked(t, Options{Dir: stored, Conn: connect(t, b.URL())})
	record(t, stored, "night", "web", ticks(0, 10)).grow(1)
	s := awaitState(t, publisher, func(s *State) bool { return s.Session == "night" && s.Events == 10 })
	c := connect(t, b.URL())
	for _, from := range []string{"", "x", "-1", "99999999", "18446744073709551616", "0 0"} {
		for {
			m, err := c.Request(wire.MetadataOf(s.Timeline), []byte(from), time.Minute)
			if err == nats.ErrNoResponders {
				continue // its subject comes a moment after its state
			}
			if err != nil || m.Header.Get(micro.ErrorHeader) == "" {
				t.Errorf("%q: %v, %v", from, m, err)
			}
			break
		}
	}
}
