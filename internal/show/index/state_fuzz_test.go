package index

import (
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// FuzzState takes up states of an index that was left. A state that is not of this index is refused, and never more than an error.
func FuzzState(f *testing.F) {
	schema := ticks()
	l, err := NewLive(f.TempDir(), schema, Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer l.Close()
	for i := range 20 {
		at := int64(i) * 1e6
		r := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at)}, Time: clock.TimelineTime(at), Map: -1}
		if err := l.Write(&r); err != nil {
			f.Fatal(err)
		}
	}
	state, err := encodeState(l, []byte("resume"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add([]byte{})
	testseed.Fuzz(f, func(t *testing.T, state []byte) {
		_, _ = decodeState(newLive("", new(trace.Schema), Options{}), state)
	})
}
