//go:build unix

package shm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/sensor"
	"meridian/sensor/ring"
	"meridian/trace"
)

func created(t testing.TB, s *trace.Schema, o Options) (*Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "timeline")
	w, err := Create(path, s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, path
}

func opened(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// next fails the test unless there is an event.
func next(t interface{ Fatalf(string, ...any) }, r *Reader, e *Event) {
	ok, err := r.Next(e)
	if err != nil || !ok {
		t.Fatalf("no event: %v", err)
	}
}

func simple() *trace.Schema {
	return &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "row", Host: "web", Kind: trace.Thread}},
		Classes: []trace.Class{{Name: "step", Category: "app", Fields: []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Uint}}, {Name: "text", Type: trace.Type{Kind: trace.Text}}}}}}
}

func TestReadersFindWhatWasWrittenEachFromTheOldest(t *testing.T) {
	dir, n := t.TempDir(), 0
	testseed.Check(t, func(t *rapid.T) {
		schema, events := eventtest.Draw(t)
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		w, err := Create(path, schema, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		first, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		for i := range events {
			if err := w.Write(&events[i]); err != nil {
				t.Fatal(err)
			}
			check(t, first, schema, &events[i], i)
		}
		second, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		for i := range events {
			check(t, second, schema, &events[i], i)
		}
		var e Event
		if ok, err := second.Next(&e); ok || err != nil || second.Lost() != 0 || first.Lost() != 0 {
			t.Errorf("one more event: %t, %v; lost %d", ok, err, second.Lost())
		}
	})
}

func check(t *rapid.T, r *Reader, s *trace.Schema, want *trace.TimelineEvent, number int) {
	var e Event
	next(t, r, &e)
	text := func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd") }
	stream, class := &s.Streams[want.Stream], &s.Classes[want.Class]
	if e.Number != uint64(number) || e.Time != want.Time || e.Recorded != want.Event.Time || e.Bounded != want.Bounded || e.Flow != want.Flow || e.Slice != want.Slice ||
		e.Phase != want.Phase || e.Role != want.Role || e.RowKind != stream.Kind || string(e.Host) != text(s.Hosts[want.Host]) || string(e.Row) != text(stream.Name) ||
		string(e.Name) != text(class.Name) || string(e.Category) != text(class.Category) || e.HostNumber != want.Host || e.RowNumber != want.Stream || e.Class != want.Class {
		t.Fatalf("event %+v became %+v", want, e)
	}
	if want.Bounded && (e.Low != want.Low || e.High != want.High) || !want.Bounded && (e.Low != want.Time || e.High != want.Time) {
		t.Fatalf("bounds %d, %d of %+v", e.Low, e.High, want)
	}
	if component, ok := s.Component(want); ok && e.Component != component || !ok && e.Component != -1 {
		t.Fatalf("component %d, not %d, %t", e.Component, component, ok)
	}
	if !json.Valid(e.Fields) || e.Cut {
		t.Fatalf("fields %q, cut %t", e.Fields, e.Cut)
	}
}

func TestFieldsAreJSON(t *testing.T) {
	w, path := created(t, simple(), Options{})
	late := trace.TimelineEvent{Time: 7, Map: -1, Values: []trace.Value{trace.OfUint(1<<64 - 1), trace.OfText("a\x00\"")}}
	ahead := late
	ahead.Time = 10
	for _, e := range []*trace.TimelineEvent{&ahead, &late} {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	var e Event
	r := opened(t, path)
	next(t, r, &e)
	next(t, r, &e)
	if want := `{"n":18446744073709551615,"text":"a\u0000\""}`; string(e.Fields) != want || e.Late != 3 {
		t.Errorf("fields %s, not %s; late by %v", e.Fields, want, e.Late)
	}
}

func TestAnEventThatDoesNotFitHasNoFieldsAndSaysSo(t *testing.T) {
	s := simple()
	s.Hosts[0] = strings.Repeat("ä", 40_000)
	s.Streams[0].Host = s.Hosts[0]
	w, path := created(t, s, Options{})
	if err := w.Write(&trace.TimelineEvent{Map: -1, Values: []trace.Value{trace.OfUint(1), trace.OfText(strings.Repeat("x", 1<<17))}}); err != nil {
		t.Fatal(err)
	}
	var e Event
	r := opened(t, path)
	next(t, r, &e)
	if !e.Cut || string(e.Fields) != "{}" || len(e.Host) != longestName || string(e.Name) != "step" {
		t.Errorf("cut %t, fields %d bytes, host of %d, name %q", e.Cut, len(e.Fields), len(e.Host), e.Name)
	}
}

func TestAReaderThatIsOvertakenKnowsHowManyEventsItLost(t *testing.T) {
	w, path := created(t, simple(), Options{Size: MinSize})
	slow := opened(t, path)
	read, number := uint64(0), uint64(0)
	write := func(n int) {
		for range n {
			number++
			if err := w.Write(&trace.TimelineEvent{Time: clock.TimelineTime(number), Map: -1, Values: []trace.Value{trace.OfUint(number), trace.OfText("x")}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var e Event
	write(10)
	for range 10 {
		next(t, slow, &e)
		read++
	}
	for _, n := range []int{5, 100_000, 3, 7_000} {
		write(n)
		for {
			ok, err := slow.Next(&e)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			var fields struct{ N uint64 }
			if err := json.Unmarshal(e.Fields, &fields); err != nil || fields.N != uint64(e.Time) || e.Number+1 != fields.N {
				t.Fatalf("event %+v, %s: %v", e, e.Fields, err)
			}
			read++
		}
		if read+slow.Lost() != number || e.Number != number-1 {
			t.Fatalf("%d read and %d lost of %d", read, slow.Lost(), number)
		}
	}
	if slow.Lost() == 0 {
		t.Error("nothing was lost")
	}
}

func TestTheFileIsTheUsersAloneAndGoesWithItsWriter(t *testing.T) {
	w, path := created(t, simple(), Options{})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := w.Write(&trace.TimelineEvent{Map: -1}); err != nil {
		t.Fatal(err)
	}
	r := opened(t, path)
	if r.Ended() {
		t.Error("ended before its writer")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	var e Event
	if !r.Ended() {
		t.Error("not ended")
	}
	next(t, r, &e)
}

func TestOnlyARingOfADeadWriterIsReplaced(t *testing.T) {
	w, path := created(t, simple(), Options{})
	if _, err := Create(path, simple(), Options{}); err == nil || !strings.Contains(err.Error(), "writes this ring") {
		t.Errorf("over a ring in use: %v", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	copy(whole[44:], []byte{byte(gone.Process.Pid), byte(gone.Process.Pid >> 8), byte(gone.Process.Pid >> 16), byte(gone.Process.Pid >> 24)})
	dead := filepath.Join(t.TempDir(), "dead")
	if err := os.WriteFile(dead, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := Create(dead, simple(), Options{})
	if err != nil {
		t.Fatalf("over a dead one: %v", err)
	}
	_ = next.Close()
	other := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(other, bytes.Repeat([]byte("dear"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, simple(), Options{}); err == nil {
		t.Error("a letter was replaced")
	}
	_ = w.Close()
}

func TestOnlyRingsOfTimelinesAreOpened(t *testing.T) {
	for _, o := range []ring.Options{{Overwrite: true}, {}} {
		o.Dir = t.TempDir()
		r, err := ring.Create(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(r.Path()); err == nil {
			t.Errorf("a program's ring is opened as a timeline's: %+v", o)
		}
		_ = r.Unmap()
	}
}

// Whatever reads rings reads this one: package sensor makes a CTF trace of it.
func TestTheRingBecomesATrace(t *testing.T) {
	w, path := created(t, simple(), Options{})
	for n := range uint64(100) {
		if err := w.Write(&trace.TimelineEvent{Time: clock.TimelineTime(1e18 + n), Map: -1, Values: []trace.Value{trace.OfUint(n), trace.OfText("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[144] = 2 // closed by its writer
	left, dir := filepath.Join(t.TempDir(), "left"), filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(left, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sensor.Recover(left, dir, sensor.Options{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	ctftest.Each(t, dir, func(e *trace.Event, events *ctf.Source) {
		c := events.Classes()[e.Class]
		for i, f := range c.Fields {
			if v := events.Values()[i]; f.Name == "fields" && string(v.Data) != fmt.Sprintf(`{"n":%d,"text":"x"}`, n) || f.Name == "number" && v.Uint() != uint64(n) {
				t.Errorf("event %d has %s %v", n, f.Name, v)
			}
		}
		n++
	})
	if n != 100 {
		t.Errorf("%d events", n)
	}
}

func TestSchemasAndEventsThatAreNotValidAreRefused(t *testing.T) {
	n, dir := 0, t.TempDir()
	open := func(_ io.Writer, s *trace.Schema) (trace.Sink, error) {
		n++
		return Create(filepath.Join(dir, fmt.Sprint(n)), s, Options{})
	}
	eventtest.RefusesNilSchema(t, "shm", open)
	eventtest.RefusesUnknownIndices(t, open)
}

func BenchmarkWrite(b *testing.B) {
	w, _ := created(b, simple(), Options{})
	e := &trace.TimelineEvent{Map: -1, Values: []trace.Value{trace.OfUint(7), trace.OfText("/index.html")}}
	for b.Loop() {
		if err := w.Write(e); err != nil {
			b.Fatal(err)
		}
	}
}
