package livetest

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"meridian/align"
	"meridian/align/live"
	"meridian/clock"
	"meridian/trace"
)

// Tally is what came out.
type Tally struct {
	Messages       int64
	Asked, Bounded int64 // places asked for on a timeline of several clocks, and those with bounds
	Wrong          int64 // bounded places whose truth was outside
	Unseen         int64 // of these bounded, those on a clock between a step and its discovery, not judged
	Outside        int64 // of these, those whose truth was outside
	Bends          int64 // of clocks that are steered, wrong places where it was told afterwards that a clock did not keep the assumption
	Alarms         int64 // changes for which a command would exit with 3
	Beside         int64 // wrong places of other clocks in such a time
	Steps          int
	Unfound        []time.Duration // from each step to its discovery
	Changes        [10]int64       // by kind
	Doubts, Named  int64           // doubts, and steps whose clock was named
	Innocent       int64           // clocks that were named and not set, or sets of clocks of which none was
	Rounds         int64
	Spent, Longest time.Duration // in rounds
	wide           int64
	widths         [64]int64 // by powers of two of the square root of two
	Failed         int64
	Failures       []string // the first
}

func (t *Tally) round(took time.Duration) {
	t.Rounds++
	t.Spent += took
	t.Longest = max(t.Longest, took)
}

func (t *Tally) width(w int64) {
	t.wide++
	t.widths[bits.Len64(uint64(max(w, 0)))]++
}

// Width returns the power of two under which a share of all widths is, ns.
func (t *Tally) Width(share float64) int64 {
	sum := int64(0)
	for i, n := range t.widths {
		if sum += n; float64(sum) >= share*float64(t.wide) {
			return 1 << i
		}
	}
	return math.MaxInt64
}

func (t *Tally) String() string {
	longest := time.Duration(0)
	for _, d := range t.Unfound {
		longest = max(longest, d)
	}
	s := fmt.Sprintf("%d messages; %d places, %d bounded, %d wrong; half within %d ns, 99%% within %d ns\n", t.Messages, t.Asked, t.Bounded, t.Wrong, t.Width(0.5), t.Width(0.99))
	s += fmt.Sprintf("%d steps, %d found, after %v at most; %d bounded places before, %d of them wrong, %d wrong places of other clocks then\n", t.Steps, len(t.Unfound), longest.Round(time.Millisecond), t.Unseen, t.Outside, t.Beside)
	s += fmt.Sprintf("%d doubts, %d steps whose clock was named, %d answers that were wrong\n", t.Doubts, t.Named, t.Innocent)
	if t.Bends > 0 {
		s += fmt.Sprintf("%d wrong places of steered clocks before it was told that they bend there; %d changes that a command exits with 3 for\n", t.Bends, t.Alarms)
	}
	s += fmt.Sprintf("%d rounds of %v, at most %v\n", t.Rounds, (t.Spent / time.Duration(max(t.Rounds, 1))).Round(time.Microsecond), t.Longest.Round(time.Microsecond))
	for k, n := range t.Changes {
		if n > 0 {
			s += fmt.Sprintf("%v: %d  ", live.Kind(k), n)
		}
	}
	return s
}

// sample is a place as it was shown.
type sample struct {
	of    *machine
	at    clock.TimelineTime
	stamp clock.HostTime
	place live.Place
}

// Agreement is how places as they were shown compare with those of the offline run.
type Agreement struct {
	Compared, Apart int64 // as shown
	Last, LastApart int64 // of the same events, by the maps at the end, where these still know them
	Wrong           int64 // offline places whose truth is outside
}

// first returns the first reference of the timeline that most samples are on.
func (w *World) first() *machine {
	of := make(map[int]int)
	best := -1
	for i := range w.samples {
		c := w.samples[i].place.Component
		if of[c]++; best < 0 || of[c] > of[best] {
			best = c
		}
	}
	if best < 0 {
		return w.hosts[0]
	}
	return w.truths[best][0].by
}

// follows reports whether the timeline followed a clock when a sample was shown.
func (w *World) follows(x *sample, m *machine) bool {
	s := w.truths[x.place.Component]
	return s[0].by == m && (len(s) == 1 || x.at < s[1].from)
}

// Offline aligns all messages at once, with the first reference of the live run, and compares its places with those that were shown
// until another clock took over: after that the timelines are not the same.
func (w *World) Offline(ctx context.Context) (*Agreement, error) {
	p := &trace.Problem{}
	for i := range w.hosts {
		p.Clocks = append(p.Clocks, trace.Clock{Name: strconv.Itoa(i), Host: strconv.Itoa(i), Granularity: 1})
	}
	for key, m := range w.messages {
		p.Channels = append(p.Channels, trace.Channel{From: key[0], To: key[1], Messages: m})
	}
	o := w.scenario.Options.Align
	reference := w.first()
	o.Reference = strconv.Itoa(slices.Index(w.hosts, reference))
	s, err := align.Solve(ctx, p, o)
	if err != nil {
		return nil, err
	}
	out := &Agreement{}
	maps := w.Timeline.Maps()
	number := make(map[*machine]int)
	for i, m := range w.hosts {
		number[m] = i
	}
	for i := range w.samples {
		x := &w.samples[i]
		if !w.follows(x, reference) {
			continue
		}
		low, high, lowOK, highOK := s.Maps[number[x.of]].EventBounds(x.stamp, 1)
		if !lowOK || !highOK {
			continue
		}
		out.Compared++
		if low > x.place.High || high < x.place.Low {
			out.Apart++
		}
		if truth := w.truth(x.place.Component, x.at); truth < low || truth > high {
			out.Wrong++
		}
		if last := maps.Place(x.of.number, x.stamp); last.Bounded && last.Component == x.place.Component {
			out.Last++
			if low > last.High || high < last.Low {
				out.LastApart++
			}
		}
	}
	return out, nil
}
