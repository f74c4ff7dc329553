package source

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// moving is a memory that takes every array, and overwrites the one that it was taken from.
type moving struct{}

func (moving) Keep(array []byte) []byte {
	kept := slices.Clone(array)
	clear(array)
	return kept
}

func (moving) Make(length int) []byte { return make([]byte, length) }
func (moving) Free([]byte)            {}
func (moving) Touched(int)            {}

func TestEndpointsComeInOrderAndNoneIsLostHoweverManyRunsThereAre(t *testing.T) {
	defer func(before int) { runLength = before }(runLength)
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		runLength = 1 + r.IntN(40)
		var memory trace.Memory
		if round%2 == 0 {
			memory = moving{}
		}
		m := &Messages{Clocks: []trace.Clock{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Memory: memory}
		var want [3][]endpoint
		for c := range r.IntN(8) {
			ch := trace.Channel{From: r.IntN(3)}
			ch.To = (ch.From + 1 + r.IntN(2)) % 3
			for i := range r.IntN(60) {
				x := trace.Message{Sent: clock.HostTime(r.IntN(50)), Received: clock.HostTime(r.IntN(50))}
				ch.Messages = append(ch.Messages, x)
				want[ch.From] = append(want[ch.From], endpoint{x.Sent, int32(c), int32(i)})
				want[ch.To] = append(want[ch.To], endpoint{x.Received, int32(c), int32(i)})
			}
			m.Channels = append(m.Channels, ch)
		}
		for number, s := range m.Endpoints(func(int) string { return "row" }) {
			slices.SortFunc(want[number], func(a, b endpoint) int { return a.compare(&b) })
			var got []endpoint
			for s != nil {
				var e trace.Event
				if err := s.Next(&e); errors.Is(err, io.EOF) {
					break
				}
				got = append(got, s.(*endpointSource).now)
			}
			if !slices.Equal(got, want[number]) {
				t.Fatalf("round %d, runs of %d: clock %d has\n%v, want\n%v", round, runLength, number, got, want[number])
			}
		}
	}
}
