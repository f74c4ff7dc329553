package view

import (
	"reflect"
	"testing"

	"meridian/internal/show/index/indextest"
)

// Three requests of 80 bytes and answers of 100, each 100 us under way; the second answer is sent again. What arrived before a stretch
// or at its end does not count.
func TestBytesAreThoseThatArrivedInTheStretch(t *testing.T) {
	t.Parallel()
	c := captures{}
	for i := range int64(3) {
		n := uint64(i)
		c.packet(0, 1, 40002, i*10*capturedMs, 1+80*n, 80, 1+100*n, "")
		c.packet(1, 0, 40002, i*10*capturedMs+capturedMs, 1+100*n, 100, 81+80*n, "")
		if i == 1 {
			c.packet(1, 0, 40002, i*10*capturedMs+4*capturedMs, 1+100*n, 100, 81+80*n, "")
		}
	}
	c.packet(1, 2, 40003, 15*capturedMs+1000, 1, 7, 1, "") // as the server has most of its packets, its address is known
	x := c.timeline(t)
	for stretch, want := range map[[2]int64][]Way{
		{0, 1 << 40}:                            {{1, 0, 300}, {0, 1, 240}, {1, 2, 7}},
		{100_000, 10*capturedMs + 100_000}:      {{1, 0, 100}, {0, 1, 80}},
		{100_001, 10*capturedMs + 100_001}:      {{1, 0, 100}, {0, 1, 80}},
		{1_100_001, 10*capturedMs + 100_000}:    {},
		{20*capturedMs + 200_000, 1 << 40}:      {{1, 0, 100}},
		{20*capturedMs + 1_100_001, 1 << 40}:    {},
		{-1 << 40, 100_000}:                     {},
		{13 * capturedMs, 15*capturedMs + 1000}: {},
	} {
		got, err := x.Traffic(stretch[0], stretch[1])
		if err != nil || !reflect.DeepEqual(got.Ways, want) || got.None != "" || got.UpTo != 0 {
			t.Errorf("%v: %+v, want %v; %v", stretch, got, want, err)
		}
	}
	few := c.timeline(t)
	few.LimitPackets(4)
	if got, err := few.Traffic(0, 1<<40); err != nil || got.UpTo == 0 {
		t.Errorf("of more packets than are read: %+v, %v", got, err)
	}
	spans, err := NewTimeline(indextest.Shop(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer spans.Close()
	if got, err := spans.Traffic(0, 1<<40); err != nil || got.None == "" {
		t.Errorf("of spans alone: %+v, %v", got, err)
	}
}
