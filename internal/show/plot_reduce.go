package show

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// mostReduced is how many messages in one direction of a pair are all drawn; of more it is a selection.
const mostReduced = 20_000

// reduced returns the messages of channels if they are few. Of many it returns those that a picture shows: of each half
// of a column of pixels the one nearest to the corridor, and an even sample of all. One pass suffices, so a page of ten
// million messages is written as fast as without the picture. Side is 1 for messages from a to b and -1 for those back,
// m a's clock to b's.
func reduced(channels []trace.Channel, m clock.PairCurve, side int64) []trace.Message {
	total := 0
	first, last := clock.HostTime(math.MaxInt64), clock.HostTime(math.MinInt64) // on a
	onA := func(k trace.Message) (a, b clock.HostTime) {
		if side > 0 {
			return k.Sent, k.Received
		}
		return k.Received, k.Sent
	}
	for _, c := range channels {
		total += len(c.Messages)
		for _, k := range c.Messages {
			a, _ := onA(k)
			first, last = min(first, a), max(last, a)
		}
	}
	messages := make([]trace.Message, 0, min(total, 2*mostReduced))
	if total <= mostReduced {
		for _, c := range channels {
			messages = append(messages, c.Messages...)
		}
		return messages
	}
	// Between two borders of columns the map is taken for straight: the picture is no finer.
	const columns = 2 * panelWidth
	last = max(last, clock.Add(first, 1))
	var offsets [columns + 1]float64 // of b against a, less the first
	begin := clock.Sub(m.At(first, clock.Nearest), first)
	for i := range offsets {
		at := clock.Add(first, clock.MulDiv(clock.Sub(last, first), int64(i), columns, clock.Nearest))
		offsets[i] = float64(clock.Sub(clock.Sub(m.At(at, clock.Nearest), at), begin))
	}
	type nearest struct {
		from  float64 // the corridor, ns
		index int     // plus one
		k     trace.Message
	}
	var edge [columns]nearest
	stride, index := (total+mostReduced-1)/mostReduced, 0
	scale := columns / float64(clock.Sub(last, first))
	for _, c := range channels {
		for _, k := range c.Messages {
			a, b := onA(k)
			x := float64(clock.Sub(a, first)) * scale
			n := min(int(x), columns-1)
			d := float64(clock.Sub(clock.Sub(b, a), begin)) - offsets[n] - (x-float64(n))*(offsets[n+1]-offsets[n])
			if d *= float64(side); edge[n].index == 0 || d < edge[n].from {
				edge[n] = nearest{d, index + 1, k}
			}
			if index%stride == 0 {
				messages = append(messages, k)
			}
			index++
		}
	}
	for _, e := range edge {
		if e.index > 0 && (e.index-1)%stride != 0 {
			messages = append(messages, e.k)
		}
	}
	return messages
}
