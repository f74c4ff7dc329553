package match

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// moving is a memory that takes every array, and overwrites the one that it was taken from.
type moving struct{}

func (moving) Keep(array []byte) []byte {
	kept := append([]byte(nil), array...)
	for i := range array {
		array[i] = 0xa5
	}
	return kept
}

func (moving) Make(length int) []byte { return make([]byte, length) }

func (moving) Free(array []byte) {
	for i := range array {
		array[i] = 0xa5
	}
}

func (moving) Touched(int) {}

// placing is a memory in which arrays are written without being touched.
type placing struct{ moving }

func (placing) Room(length int) []byte { return bytes.Repeat([]byte{0xa5}, length) }

func (placing) Place(array []byte, at int, part []byte) { copy(array[at:], part) }

// moved returns a capture with the same packets in such a memory.
func moved(c *trace.Capture) *trace.Capture {
	of := *c
	of.Packets = trace.NewLog(moving{})
	for i := range c.Packets.Len() {
		*of.Packets.Append() = *c.Packets.At(i)
	}
	of.Packets.Finish()
	return &of
}

// sameInMemory holds what is found in captures against what is found where memories take all arrays.
func sameInMemory(t interface{ Fatalf(string, ...any) }, captures []*trace.Capture) Tally {
	var said trace.Warnings
	want, err := Match(tContext, captures, Options{}, &said)
	if err != nil {
		t.Fatalf("%v", err)
	}
	withoutEmpty(want)
	var others []*trace.Capture
	for _, c := range captures {
		others = append(others, moved(c))
	}
	for _, m := range []trace.Memory{moving{}, placing{}} {
		var saidMoved trace.Warnings
		got, err := Match(tContext, others, Options{Memory: m}, &saidMoved)
		if err != nil {
			t.Fatalf("%v", err)
		}
		withoutEmpty(got)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(saidMoved.Lines(), said.Lines()) {
			t.Fatalf("in a %T memory %+v, else %+v\n%v\n%v", m, got.Tally, want.Tally, saidMoved.Lines(), said.Lines())
		}
	}
	return want.Tally
}

// withoutEmpty takes an empty list of messages for none.
func withoutEmpty(r *Result) {
	for i, c := range r.Channels {
		if len(c.Messages) == 0 {
			r.Channels[i].Messages = nil
		}
	}
}

func TestWhereArraysAreKeptChangesNothing(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		defer func(before int) { longConversation = before }(longConversation)
		longConversation = rapid.SampledFrom([]int{0, 20, longConversation}).Draw(t, "long from")
		sameInMemory(t, chatter(random, chatterShape{
			flows: rapid.IntRange(1, 40).Draw(t, "flows"), packets: rapid.IntRange(1, 2000).Draw(t, "packets"),
			offset: rapid.SampledFrom([]int64{0, 37_000_000_000, -1e15}).Draw(t, "offset"),
			lost:   rapid.SampledFrom([]float64{0, 0.02, 0.5}).Draw(t, "lost"), again: rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "sent again"),
			translated: rapid.Bool().Draw(t, "translated"), points: rapid.Bool().Draw(t, "two points"),
			twoClocks: rapid.Bool().Draw(t, "two clocks"), directions: rapid.Bool().Draw(t, "directions"),
		}))
	})
}

func TestLongFlowsAndManyFlowsAreGatheredAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	shape := chatterShape{flows: 900, packets: 2 * gathered, long: gathered + gathered/2, again: 0.01}
	if found := sameInMemory(t, chatter(random, shape)); found.Messages < gathered {
		t.Errorf("only %d messages", found.Messages)
	}
}

// counting is a memory that counts the bytes of its arrays, and of those that were freed.
type counting struct {
	moving
	made, freed atomic.Int64
}

func (c *counting) Make(length int) []byte {
	c.made.Add(int64(length))
	return make([]byte, length)
}

func (c *counting) Free(array []byte) { c.freed.Add(int64(len(array))) }

// What is known of the packets of one connection that has most of a capture would fill the heap.
func TestWhatIsKnownOfALongConnectionIsInTheMemoryUntilItIsMatched(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const packets = 3 << 16
	captures := chatter(random, chatterShape{flows: 2, packets: 100, long: packets})
	m := new(counting)
	if _, err := Match(tContext, captures, Options{Memory: m}, nil); err != nil {
		t.Fatal(err)
	}
	const places = 4 // bytes a packet of the index
	if made := m.made.Load(); made < packets*(places+32) || m.freed.Load() != made {
		t.Errorf("%d bytes were made for %d packets, %d freed", made, packets, m.freed.Load())
	}
}

func TestALongFlowIsGatheredOverSeveralGroups(t *testing.T) {
	t.Parallel()
	c := &trace.Capture{Flows: make([]trace.Flow, 3), Packets: trace.NewLog(moving{})}
	want := make([][]clock.HostTime, len(c.Flows))
	for i := range 4 * gathered {
		flow := 0
		if i%1000 == 999 {
			flow = 1 + i/1000%2
		}
		*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, Flow: uint32(flow) << 1, Time: clock.HostTime(i)}
		want[flow] = append(want[flow], clock.HostTime(i))
	}
	c.Packets.Finish()
	for _, m := range []trace.Memory{moving{}, placing{}} {
		x := newIndex(c, 0, m)
		for flow := range c.Flows {
			var got []clock.HostTime
			for p := range x.each(x.packets(flow)) {
				got = append(got, p.Time)
			}
			if !slices.Equal(got, want[flow]) {
				t.Errorf("in a %T memory flow %d has %d packets, %d of them in order", m, flow, len(got), len(want[flow]))
			}
		}
	}
}
