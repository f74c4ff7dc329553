// Package sensortest tells tests what a program recorded of itself with package sensor: events with their fields by name, and
// what became of the messages whose ends they are.
//
//	func() --> sensor.Record --> DIR --> format/ctf --> Events --> Messages
//
// It is the reader that anybody has; a trace with anything amiss fails the test. The cost is a trace in memory.
package sensortest

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/sensor"
	"meridian/trace"
)

// Event is an event with its class, its row and its fields.
type Event struct {
	trace.Event
	Class          trace.Class
	Row            trace.Stream
	Values         []trace.Value
	Category, Name string            // of the class, apart
	Fields         map[string]string // numbers in decimal
}

// Events are the events of a trace, in its order.
type Events []Event

// During records what happens while a function runs. Only one test of a process can at a time.
func During(t testing.TB, o sensor.Options, what func()) Events {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	o.Dir = t.TempDir()
	stop, err := sensor.Record(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped { // the function gave up the test
			_ = stop()
		}
	}()
	what()
	stopped = true
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return Read(t, dir)
}

// Read reads a trace.
func Read(t testing.TB, dir string) (all Events) {
	t.Helper()
	_, said := ctftest.Each(t, dir, func(event *trace.Event, s *ctf.Source) {
		e := Event{Event: *event}
		c := s.Classes()[e.Event.Class]
		e.Class, e.Row = c, s.Streams()[e.Stream]
		e.Name, e.Category, e.Fields = strings.TrimPrefix(c.Name, c.Category+":"), c.Category, map[string]string{}
		for i, v := range s.Values() {
			v.Data = bytes.Clone(v.Data)
			e.Values = append(e.Values, v)
			e.Fields[c.Fields[i].Name] = text(&v)
		}
		all = append(all, e)
	})
	if len(said) > 0 {
		t.Fatalf("%s: %q", dir, said)
	}
	return all
}

func text(v *trace.Value) string {
	switch v.Kind {
	case trace.Int:
		return strconv.FormatInt(v.Int(), 10)
	case trace.Uint:
		return strconv.FormatUint(v.Uint(), 10)
	case trace.Text:
		return string(v.Data)
	}
	return ""
}

// Of returns the events of one name and phase.
func (all Events) Of(category, name string, phase trace.Phase) (some Events) {
	for _, e := range all {
		if e.Category == category && e.Name == name && e.Phase == phase {
			some = append(some, e)
		}
	}
	return some
}

// Named returns the events of a name, "category:name", of all phases.
func (all Events) Named(name string) (some Events) {
	for _, e := range all {
		if e.Class.Name == name {
			some = append(some, e)
		}
	}
	return some
}

// Tally says what became of the messages of one name.
type Tally struct {
	Whole     int // sent once and received once
	Unheard   int // sent, and not received
	Unsaid    int // received, and not sent
	Ambiguous int // sent or received more than once
	Inverted  int // received before they were sent
}

// Messages counts the messages whose ends are marks of a name.
func (all Events) Messages(category, name string) (n Tally) {
	type ends struct {
		sent, received int
		from, to       clock.HostTime
	}
	known := map[uint64]*ends{}
	for _, e := range all.Of(category, name, trace.Instant) {
		m := known[e.Flow]
		if m == nil {
			m = &ends{}
			known[e.Flow] = m
		}
		switch e.Role {
		case trace.Sends:
			m.sent, m.from = m.sent+1, e.Time
		case trace.Receives:
			m.received, m.to = m.received+1, e.Time
		}
	}
	for _, m := range known {
		switch {
		case m.sent > 1 || m.received > 1:
			n.Ambiguous++
		case m.received == 0:
			n.Unheard++
		case m.sent == 0:
			n.Unsaid++
		default:
			n.Whole++
			if m.to < m.from {
				n.Inverted++
			}
		}
	}
	return n
}
