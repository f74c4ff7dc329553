package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// growing is a source that learns of a row and of a class with each event, gives all rows other names now and then, and
// ends with an error.
type growing struct {
	n, most int
	err     error
	streams []trace.Stream
	classes []trace.Class
	ended   atomic.Bool // nothing may be asked any more
}

func (g *growing) Next(e *trace.Event) error {
	if g.ended.Load() {
		panic("read after the end")
	}
	if g.n == g.most {
		return g.err
	}
	g.streams = append(g.streams, trace.Stream{Name: fmt.Sprint("row ", g.n), Parent: g.n - 1})
	g.classes = append(g.classes, trace.Class{Name: fmt.Sprint("class ", g.n)})
	if g.n%100 == 99 {
		for i := range g.streams {
			g.streams[i].Name += "'"
		}
	}
	*e = trace.Event{Time: clock.HostTime(g.n), Stream: g.n, Class: g.n}
	g.n++
	return nil
}

func (g *growing) Values() []trace.Value   { return []trace.Value{trace.OfInt(int64(g.n - 1))} }
func (g *growing) Streams() []trace.Stream { return g.streams }
func (g *growing) Classes() []trace.Class  { return g.classes }
func (g *growing) Close() error            { return nil }

func TestWhatASourceLearnsTravelsWithTheEventsThatAreReadAhead(t *testing.T) {
	const events = 2000
	sources := []EventSource{
		{Events: &growing{most: events, err: io.EOF}, Window: InOrder, Ahead: true},
		{Events: &growing{most: events, err: io.EOF}, Host: 1, Ahead: true},
	}
	schema := &trace.Schema{Hosts: []string{"a", "b"}}
	var seen [2]int64
	_, err := Events(context.Background(), sources, schema, func(r *trace.TimelineEvent) error {
		n := seen[r.Host]
		if r.Values[0].Int() != n || schema.Classes[r.Class].Name != fmt.Sprint("class ", n) || schema.Streams[r.Stream].ID != 0 {
			t.Fatalf("event %d of host %d: %+v", n, r.Host, r)
		}
		seen[r.Host]++
		return nil
	})
	if err != nil || seen != [2]int64{events, events} {
		t.Fatalf("%v events, error %v", seen, err)
	}
	for host, name := range schema.Hosts {
		rows := slices.DeleteFunc(slices.Clone(schema.Streams), func(s trace.Stream) bool { return s.Host != name })
		for i, s := range sources[host].Events.Streams() {
			if rows[i].Name != s.Name {
				t.Fatalf("row %d of %s is called %q at the end, not %q", i, name, rows[i].Name, s.Name)
			}
			if i > 0 && schema.Streams[rows[i].Parent].Name != rows[i-1].Name {
				t.Fatalf("row %d of %s has parent %d", i, name, rows[i].Parent)
			}
		}
	}
}

func TestAnErrorComesBehindTheEventsBeforeItThoughTheyAreReadAhead(t *testing.T) {
	for _, events := range []int{0, 1, maxBatchEvents, 1000} {
		broken := errors.New("broken")
		n := 0
		sources := []EventSource{{Events: &growing{most: events, err: broken}, Window: InOrder, Ahead: true}}
		_, err := Events(context.Background(), sources, &trace.Schema{Hosts: []string{"a"}}, func(*trace.TimelineEvent) error { n++; return nil })
		if !errors.Is(err, broken) || n != events {
			t.Errorf("%d of %d events came before the error %v", n, events, err)
		}
	}
}

func TestNothingIsReadAfterEventsHasEnded(t *testing.T) {
	enough := errors.New("enough")
	for _, after := range []int{1, 300, 1500} {
		var sources []EventSource
		for range 5 {
			sources = append(sources, EventSource{Events: &growing{most: 10_000, err: io.EOF}, Ahead: true, Window: InOrder})
		}
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		_, err := Events(ctx, sources, &trace.Schema{Hosts: []string{"a"}}, func(*trace.TimelineEvent) error {
			if n++; n == after {
				return enough
			}
			return nil
		})
		for i := range sources {
			sources[i].Events.(*growing).ended.Store(true)
		}
		if cancel(); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	}
}

func TestThoseThatKeepNoneEndToo(t *testing.T) {
	sources := []EventSource{{Events: &growing{most: 5000, err: io.EOF}, Ahead: true, Keep: func(e *trace.Event) bool { return e.Stream%1000 == 7 }}}
	var got []int64
	_, err := Events(context.Background(), sources, &trace.Schema{Hosts: []string{"a"}}, func(r *trace.TimelineEvent) error {
		got = append(got, r.Values[0].Int())
		return nil
	})
	if err != nil || !slices.Equal(got, []int64{7, 1007, 2007, 3007, 4007}) {
		t.Errorf("%v, error %v", got, err)
	}
}
