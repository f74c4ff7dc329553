package quality

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// exchanged returns messages both ways between two clocks, in any order, no two of which are received or sent at one instant.
func exchanged(t *rapid.T) (there, back []trace.Message) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(minPruned/2, minPruned).Draw(t, "n")
	offset := rapid.Int64Range(-1e18, 1e18).Draw(t, "offset")
	skew := rapid.Float64Range(-3e-4, 3e-4).Draw(t, "skew")
	least := rapid.Int64Range(0, 100_000).Draw(t, "least")
	spread := rapid.SampledFrom([]float64{0, 50, 10_000, 1e7}).Draw(t, "spread")
	pause := rapid.SampledFrom([]int64{1 << 3, 1 << 10, 1 << 20, 1 << 34}).Draw(t, "pause")
	burst := rapid.SampledFrom([]int{1, 5, 64, 400}).Draw(t, "burst") // messages one way before the other has its turn
	silent := rapid.Float64Range(0, 1).Draw(t, "silent")              // the share of the time in which nothing goes back
	other := func(at int64) clock.HostTime { return clock.HostTime(at + int64(skew*float64(at)) + offset) }
	at := int64(0)
	for i := range n {
		at += 1 + random.Int64N(pause)
		arrives := at + least + int64(spread*random.ExpFloat64())
		thither := random.IntN(2) == 0
		if burst > 1 {
			thither = i/burst%2 == 0
		}
		if thither {
			there = append(there, trace.Message{Sent: clock.HostTime(at), Received: other(arrives)})
		} else if float64(i) >= silent*float64(n) {
			back = append(back, trace.Message{Sent: other(at), Received: clock.HostTime(arrives)})
		}
	}
	if rapid.Bool().Draw(t, "shuffled") {
		random.Shuffle(len(there), func(i, k int) { there[i], there[k] = there[k], there[i] })
		random.Shuffle(len(back), func(i, k int) { back[i], back[k] = back[k], back[i] })
	}
	distinct := func(m []trace.Message) []trace.Message {
		seen := make(map[clock.HostTime]bool)
		return slices.DeleteFunc(m, func(x trace.Message) bool {
			again := seen[x.Received]
			seen[x.Received] = true
			return again
		})
	}
	return distinct(there), distinct(back)
}

func TestNoSlotThatIsLeftOutHasAQuickerExchange(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		there, back := exchanged(t)
		for len(there)+len(back) < minPruned { // the same again, much later
			n := len(there)
			for _, side := range []*[]trace.Message{&there, &back} {
				for _, m := range *side {
					*side = append(*side, trace.Message{Sent: m.Sent + 1e15, Received: m.Received + 1e15})
				}
			}
			if n+len(back) == 0 {
				return
			}
		}
		cut := rapid.IntRange(0, len(there)).Draw(t, "cut")
		blocks := [][]trace.Message{there[:cut], there[cut:]}
		below := rapid.SampledFrom([]int64{math.MaxInt64, 1_000_000, 200_000, 1000}).Draw(t, "below")
		if newSlots(blocks, [][]trace.Message{back}) == nil {
			t.Fatal("too few messages for slots")
		}
		trip, worst := quickest(blocks, [][]trace.Message{back}, below)
		wantTrip, wantWorst := quickestOf(blocks, [][]trace.Message{back}, below)
		if trip != wantTrip || worst != wantWorst {
			t.Fatalf("%d, %d at worst; of all messages %d, %d", trip, worst, wantTrip, wantWorst)
		}
	})
}

func TestFewMessagesAreLookedAtWhereDelaysVary(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var sides [2][][]trace.Message
	for side := range sides {
		var m []trace.Message
		for i := range 400_000 {
			at := clock.HostTime(i*10_000 + random.IntN(10_000))
			m = append(m, trace.Message{Sent: at, Received: at + 90_000 + clock.HostTime(40_000*random.ExpFloat64())})
		}
		sides[side] = [][]trace.Message{m}
	}
	s := newSlots(sides[0], sides[1])
	_, worst := quickestOf(sides[0], sides[1], math.MaxInt64)
	there, back := s.within(worst, sides[0], sides[1])
	if n := len(there[0]) + len(back[0]); n > 80_000 {
		t.Errorf("%d of 800000 messages are put in order", n)
	}
}

func TestStampsBeyondTheLimitGetNoSlots(t *testing.T) {
	m := make([]trace.Message, minPruned)
	if newSlots([][]trace.Message{m}, nil) == nil {
		t.Error("no slots for stamps of 0")
	}
	m[77].Received = maxStamp + 1
	if newSlots([][]trace.Message{m}, nil) != nil || newSlots(nil, [][]trace.Message{m}) != nil {
		t.Error("slots for a stamp beyond the limit")
	}
}

// Bursts go each way by turns. Only the last message of one and the first of the next are quick, so no slot holds both.
func TestAnExchangeOverTheEdgeOfASlotIsFound(t *testing.T) {
	for _, skew := range []float64{0, 1.5e-4, -1.5e-4} {
		random := rand.New(rand.NewPCG(5, 6))
		const burst, long = 128, 1 << 30
		other := func(at int64) clock.HostTime { return clock.HostTime(at) + clock.HostTime(skew*float64(at)) }
		var there, back []trace.Message
		for i := range int64(2 * minPruned) {
			k, n := i/burst, i%burst
			at := k*long + n*(long/burst/2)
			delay := 10_000_000 + random.Int64N(1_000_000)
			if k%2 == 0 {
				if n == burst-1 {
					delay = 1000 + random.Int64N(1000)
				}
				there = append(there, trace.Message{Sent: clock.HostTime(at), Received: other(at + delay)})
				continue
			}
			if n == 0 {
				delay = 1000 + random.Int64N(1000)
			}
			back = append(back, trace.Message{Sent: other(at), Received: clock.HostTime(at + delay)})
		}
		blocks := [2][][]trace.Message{{there}, {back}}
		trip, worst := quickest(blocks[0], blocks[1], math.MaxInt64)
		wantTrip, wantWorst := quickestOf(blocks[0], blocks[1], math.MaxInt64)
		if trip != wantTrip || worst != wantWorst {
			t.Errorf("skew %g: %d, %d at worst; of all messages %d, %d", skew, trip, worst, wantTrip, wantWorst)
		}
	}
}
