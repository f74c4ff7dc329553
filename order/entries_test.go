package order

import (
	"slices"
	"testing"

	"meridian/trace"
)

// listed is a source that has streams and no events.
type listed struct {
	trace.Source
	streams []trace.Stream
}

func (l *listed) Streams() []trace.Stream { return l.streams }

func TestStreamsOfASourceThatIsReadAgainAreNotEnteredAgain(t *testing.T) {
	schema := &trace.Schema{Hosts: []string{"a", "b"}}
	thread := func(id int64, name string) trace.Stream {
		return trace.Stream{Kind: trace.Thread, ID: id, Name: name, Parent: -1}
	}
	first := &listed{streams: []trace.Stream{thread(1, "x"), thread(2, "y"), thread(2, "z")}}
	e := NewEntries(schema)
	of, other := e.Of(first, 0), e.Of(&listed{streams: []trace.Stream{thread(1, "x")}}, 1)
	for i := range first.streams {
		of.Stream(i)
	}
	other.Stream(0)
	numbers := of.Numbers()
	if !slices.Equal(numbers, []int{0, 1, 2}) || len(schema.Streams) != 4 {
		t.Fatalf("numbers %v of %d streams", numbers, len(schema.Streams))
	}
	// Read again, the streams may come in another order, and there may be more.
	again := NewEntries(schema).Of(&listed{streams: []trace.Stream{thread(1, "x"), thread(2, "z"), thread(3, "new"), thread(2, "y")}}, 0)
	again.Resume(numbers)
	var got []int
	for i := range 4 {
		got = append(got, again.Stream(i))
	}
	// The second is of the kind and number of the one that was second: names may be completed later.
	if !slices.Equal(got, []int{0, 1, 4, 5}) && !slices.Equal(got, []int{0, 1, 4, 2}) {
		t.Errorf("numbers %v", got)
	}
	if got[0] != 0 || got[2] != 4 || schema.Streams[4].Name != "new" {
		t.Errorf("numbers %v, streams %v", got, schema.Streams)
	}
}
