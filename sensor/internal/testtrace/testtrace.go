// Package testtrace reads the traces that package sensor writes, for its tests and for those of its middleware: a reader of a few
// hundred lines that needs nothing but the standard library, so that the sensors' module needs nothing for its tests either.
//
//	DIR/metadata  -->  classes, clock
//	DIR/sensor_N  -->  packets, checked  -->  events with their fields  -->  Events, ordered by time
//
// It knows the layout that sensor's traceFile documents, and no other CTF. A packet that is torn, that has a wrong checksum,
// or whose events do not fill it fails the test. Time is what the metadata say of the stamps, in whole nanoseconds.
// The readers of other traces (Meridian's own, babeltrace2) are tested with the same events in meridian/internal/sensortest.
package testtrace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Phase says what an event does to its row.
type Phase int

const (
	Instant Phase = iota
	Begin
	End
	Counter
)

// Roles of an event in a message, by their numbers in the trace.
const (
	Sends    = 1
	Receives = 2
)

// Event is an event with its fields.
type Event struct {
	Category, Name string // without the ending that says the phase
	Phase          Phase
	Time           int64 // ns since 1970
	Slice, Flow    uint64
	Role           uint8
	Values         []any // of the fields: int64, uint64, float64, bool, string, []byte, [][2]int64 (buckets)
	fields         []string
}

// Int returns field i, an integer with a sign.
func (e *Event) Int(i int) int64 { return e.Values[i].(int64) }

// Text returns the value of a field as text; "" if there is no field of that name.
func (e *Event) Text(name string) string {
	if i := slices.Index(e.fields, name); i >= 0 {
		return fmt.Sprint(e.Values[i])
	}
	return ""
}

// Events are events in the order of their times.
type Events []Event

// Trace is what a directory holds.
type Trace struct {
	Events    Events
	Discarded int // events that the packets say were discarded
	Missing   int // packets that are missing in the sequence: they were overwritten
}

// During records what happens while a function runs and returns the events, of which none may be lost. record starts the
// recording into a directory, as sensor.Record does.
func During(t testing.TB, record func(dir string) (stop func() error, err error), what func()) Events {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	stop, err := record(dir)
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped { // what gave up the test
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

// Read returns the events of a trace, of which none may be lost.
func Read(t testing.TB, dir string) Events {
	t.Helper()
	all := ReadLossy(t, dir)
	if all.Discarded+all.Missing > 0 {
		t.Fatalf("%s: %d events discarded, %d packets missing", dir, all.Discarded, all.Missing)
	}
	return all.Events
}

// ReadLossy returns what is in a trace.
func ReadLossy(t testing.TB, dir string) *Trace {
	t.Helper()
	all, err := read(dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return all
}

func read(dir string) (*Trace, error) {
	m, err := readMetadata(filepath.Join(dir, "metadata"))
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "sensor_*"))
	if err != nil {
		return nil, err
	}
	all := new(Trace)
	for _, file := range files {
		if err := all.addStream(file, m); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	slices.SortStableFunc(all.Events, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}

// Of returns the events of one name and phase.
func (all Events) Of(category, name string, phase Phase) (some Events) {
	for _, e := range all {
		if e.Category == category && e.Name == name && e.Phase == phase {
			some = append(some, e)
		}
	}
	return some
}

// Named returns the events of a name, "category:name", of all phases.
func (all Events) Named(name string) (some Events) {
	category, name, _ := strings.Cut(name, ":")
	for _, e := range all {
		if e.Category == category && e.Name == name {
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
	type message struct {
		sent, received int
		from, to       int64
	}
	known := map[uint64]message{}
	for _, e := range all.Of(category, name, Instant) {
		m := known[e.Flow]
		switch e.Role {
		case Sends:
			m.sent, m.from = m.sent+1, e.Time
		case Receives:
			m.received, m.to = m.received+1, e.Time
		}
		known[e.Flow] = m
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
