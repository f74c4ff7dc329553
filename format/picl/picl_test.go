package picl

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/filetest"
	"meridian/internal/testseed"
	"meridian/trace"
)

var _ trace.Sink = (*Writer)(nil)

func write(t eventtest.Fataler, l *trace.Schema, records []trace.TimelineEvent, o Options) string {
	var out bytes.Buffer
	w, err := NewWriter(&out, l, o)
	eventtest.Write(t, w, err, records)
	return out.String()
}

// line is a record of the format, as a reader that knows nothing of the writer finds it.
type line struct {
	kind, event int
	ns          *big.Int
	node, task  int
	values      []string
}

// parse reads a trace by the format's rules alone: five numbers, a count, and if that is not zero a type and as many
// values; a type is a number or words in quotes, one for each value.
func parse(t interface{ Fatalf(string, ...any) }, text string) (all []line) {
	for n, row := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if row == "" {
			continue
		}
		words := strings.Split(row, " ")
		if len(words) < 6 {
			t.Fatalf("line %d is short: %q", n+1, row)
		}
		var l line
		var count int
		for i, into := range map[int]*int{0: &l.kind, 1: &l.event, 3: &l.node, 4: &l.task, 5: &count} {
			v, err := strconv.Atoi(words[i])
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			*into = v
		}
		seconds, ok := new(big.Rat).SetString(words[2])
		if !ok || len(words[2])-strings.IndexByte(words[2], '.') != 10 {
			t.Fatalf("line %d: time %q", n+1, words[2])
		}
		seconds.Mul(seconds, big.NewRat(1e9, 1))
		l.ns = seconds.Num()
		rest := words[6:]
		if count > 0 {
			if len(rest) == 0 {
				t.Fatalf("line %d has no type", n+1)
			}
			if rest[0] == "2" {
				rest = rest[1:]
			} else {
				i, want := 0, 0
				for {
					want += strings.Count(rest[i], "%")
					i++
					if strings.HasSuffix(rest[i-1], `"`) {
						break
					}
				}
				if want != count || rest[0][0] != '"' {
					t.Fatalf("line %d: a format of %d for %d values: %q", n+1, want, count, row)
				}
				rest = rest[i:]
			}
		}
		if len(rest) != count {
			t.Fatalf("line %d: %d values of %d: %q", n+1, len(rest), count, row)
		}
		l.values = rest
		all = append(all, l)
	}
	return all
}

func example() (*trace.Schema, []trace.TimelineEvent) {
	number := func(names ...string) (f []trace.Field) {
		for _, n := range names {
			f = append(f, trace.Field{Name: n, Type: trace.Type{Kind: trace.Uint}})
		}
		return f
	}
	load := append(number("runnable"), trace.Field{Name: "load", Type: trace.Type{Kind: trace.Float}})
	l := &trace.Schema{Title: "two hosts", Hosts: []string{"web 1", "db"}, Method: "envelope smoother",
		Streams: []trace.Stream{{Name: "CPU 0", Host: "web 1", Kind: trace.CPU}, {Name: "postgres 7", Host: "db"}, {Name: "nginx 12", Host: "web 1"}},
		Classes: []trace.Class{
			{Name: "request", Fields: append(number("len", "status"), trace.Field{Name: "vtid", Type: trace.Type{Kind: trace.Int}}), Context: 1},
			{Name: "query\n-4 -901 0 0 0 0"}, {Name: "load", Fields: load}, {Name: "sync"}}}
	at := func(ns clock.TimelineTime, host, stream, class int, phase trace.Phase, v ...trace.Value) trace.TimelineEvent {
		return trace.TimelineEvent{Event: trace.Event{Stream: stream, Class: class, Phase: phase}, Time: 1_700_000_000e9 + ns, Host: host, Values: v}
	}
	mark := func(r trace.TimelineEvent, flow uint64, role trace.Role) trace.TimelineEvent {
		r.Flow, r.Role = flow, role
		return r
	}
	return l, []trace.TimelineEvent{
		mark(at(1, 0, 2, 0, trace.Begin, trace.OfUint(512), trace.OfUint(200), trace.OfInt(12)), 77, trace.Sends),
		at(20, 0, 0, 2, trace.Counter, trace.OfUint(3), trace.OfFloat(0.25)),
		mark(at(1_000, 1, 1, 1, trace.Begin), 77, trace.Receives),
		mark(at(1_500, 1, 1, 3, trace.Instant), 9, trace.Enters),
		mark(at(1_800, 1, 1, 3, trace.Instant), 9, trace.Leaves),
		at(2_000, 1, 1, 3, trace.End),
		at(5_000, 0, 2, 0, trace.End),
		at(6_000, 0, 2, 0, trace.End),
		mark(at(7_000, 0, 2, 0, trace.Instant, trace.OfUint(64)), 1<<40+5, trace.Sends), // lost
	}
}

func TestTraceIsAsPromised(t *testing.T) {
	l, records := example()
	for name, o := range map[string]Options{"utc": {}, "first": {SinceFirst: true}, "origin": {Origin: 1_700_000_000e9 + 3_000}} {
		got := write(t, l, records, o)
		filetest.Golden(t, filepath.Join("testdata", name+".picl"), got)
		parse(t, got)
	}
}

func TestBothEndsOfAMessageNameEachOther(t *testing.T) {
	l, records := example()
	sent, received := 0, 0
	for _, x := range parse(t, write(t, l, records, Options{})) {
		values := strings.Join(x.values, " ")
		switch {
		case x.event == -21 && x.kind == -3 && x.values[1] == "77":
			sent++
			if x.node != 0 || x.task != 1 || values != "512 77 1 0" {
				t.Errorf("send at %d, %d: %s", x.node, x.task, values)
			}
		case x.event == -52 && x.kind == -4:
			received++
			if x.node != 1 || x.task != 0 || values != "0 77 0 1" {
				t.Errorf("arrival at %d, %d: %s", x.node, x.task, values)
			}
		case x.event == -21 && x.kind == -3 && values != "64 5 -1 -1":
			t.Errorf("the lost message: %s", values)
		}
	}
	if sent != 1 || received != 1 {
		t.Errorf("%d sent, %d received", sent, received)
	}
}

func TestAMessageWhoseArrivalNeverComesDoesNotHoldTheRestForEver(t *testing.T) {
	l, records := example()
	var out bytes.Buffer
	w, _ := NewWriter(&out, l, Options{})
	lost := records[len(records)-1]
	w.Write(&lost)
	r := records[1]
	for i := range clock.TimelineTime(100_000) {
		r.Time = lost.Time + i
		if int64(i)%2 == 0 {
			r.Flow, r.Role = uint64(i+100), trace.Sends
		} else {
			r.Role = trace.Receives
		}
		w.Write(&r)
		if n := len(w.waiting.entries) - w.waiting.first; n > mostWaiting+8 || w.waiting.held > mostHeld+1000 {
			t.Fatalf("%d entries and %d bytes wait", n, w.waiting.held)
		}
	}
	w.Close()
	unmet := 0
	for _, x := range parse(t, out.String()) {
		if x.event == -21 && x.kind == -3 && x.values[2] == "-1" {
			unmet++
		}
	}
	if unmet != 1 {
		t.Errorf("%d messages without an arrival, not 1", unmet)
	}
}

func TestAnyRecordsAreATraceThatParses(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, records := eventtest.Draw(t)
		origin := clock.TimelineTime(rapid.Int64Range(-1e18, 1e18).Draw(t, "origin"))
		open := make(map[[3]int]int)
		own := 0
		for _, x := range parse(t, write(t, l, records, Options{Origin: origin})) {
			key := [3]int{x.node, x.task, x.event}
			switch x.kind {
			case -3:
				open[key]++
			case -4:
				if open[key]--; open[key] < 0 && x.event != -402 {
					t.Fatalf("%v ends and has not begun", key)
				}
			case -2:
			default:
				t.Fatalf("record %d", x.kind)
			}
			if x.event > 0 {
				if r := &records[own]; origin > 0 && r.Time > 0 {
					if want := big.NewInt(int64(r.Time - origin)); want.Cmp(x.ns) != 0 {
						t.Fatalf("%v ns, not %v", x.ns, want)
					}
				}
				own++
			}
		}
		if own != len(records) {
			t.Fatalf("%d events of %d", own, len(records))
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	l, records := example()
	w, _ := NewWriter(io.Discard, l, Options{})
	i := 0
	for b.Loop() {
		r := records[i%2]
		r.Flow = uint64(i/2*2 + 2)
		if i%2 == 1 {
			r.Role = trace.Receives
		}
		w.Write(&r)
		i++
	}
	if testing.Verbose() {
		fmt.Fprintln(os.Stderr, i, "records")
	}
}

func TestAWriterWithoutASchemaIsRefused(t *testing.T) {
	eventtest.RefusesNilSchema(t, "picl", func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}

func TestUnknownIndicesAndWritesAfterCloseAreRefused(t *testing.T) {
	eventtest.RefusesUnknownIndices(t, func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}
