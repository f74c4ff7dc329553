package pair

import (
	"errors"
	"math"

	"meridian/clock"
	"meridian/trace"
)

// DefaultSegment is how long a segment is where nothing else is asked for: over half an hour the residuals of real clocks
// still stay what they are over a minute (Clément and Dagenais 2009, section 13, table 4), ns.
const DefaultSegment = 1_800_000_000_000

// Segmented returns the estimates of a long trace's segments, joined (Clément and Dagenais 2009, section 13): clocks that
// are not linear over hours are so over half of one. The messages' extent on a's clock is divided into even segments of
// about the given length, ns; 0 stands for [DefaultSegment]. A segment with too few messages to say anything of a skew,
// fewer than two each way or all within a quarter of it, has its neighbour's line: both are taken as one. Each is given to
// estimate as a problem of its own; a single one is the problem itself.
//
// Where two segments meet their lines differ by a step. A step forward is taken at once. A step back would make time run
// back, so the curve stands still around the seam; it stays within the bounds, so with lines of [Hull] nothing is inverted
// there either. The bounds step where the segments' do, and before a step back the one of the later segment holds as well:
// no clock runs back. Segments that contradict each other leave no bounds, and the fit is Fallback. Skew is the one from
// end to end, its interval holds those of all segments.
//
// The cost is estimate's. Its error is returned as it is. It is an error if estimate is nil.
func Segmented(p *Problem, length int64, estimate func(*Problem) (Estimate, error)) (Estimate, error) {
	if estimate == nil {
		return Estimate{}, errors.New("pair: no estimator for the segments")
	}
	if length <= 0 {
		length = DefaultSegment
	}
	parts := p.segments(length)
	if len(parts) < 2 {
		return estimate(p)
	}
	pieces := make([]Estimate, len(parts))
	seams := make([]clock.HostTime, 0, len(parts)-1) // the first instant of every segment but the first
	for i, part := range parts {
		e, err := estimate(part)
		if err != nil {
			return Estimate{}, err
		}
		if e.Map.Mid == nil { // it says nothing: no joining with it
			return estimate(p)
		}
		pieces[i] = e
		if i > 0 {
			seams = append(seams, part.A.First)
		}
	}
	return joined(pieces, seams), nil
}

// segments returns the problem's segments, those with too few messages joined with a neighbour.
func (p *Problem) segments(length int64) []*Problem {
	first, last := p.extent()
	n := max(clock.Add(clock.Sub(last, first), length/2)/length, 1)
	if first > last || n < 2 {
		return nil
	}
	n = min(n, int64(min(p.AB.Len(), p.BA.Len())/2)) // each needs two messages each way
	if n < 2 {
		return nil
	}
	// An instant belongs to segment i where starts[i] is the last start not after it.
	starts := make([]clock.HostTime, n)
	for i := range starts {
		starts[i] = clock.Add(first, clock.MulDiv(clock.Sub(last, first), int64(i), n, clock.Down))
	}
	there, back := segmentsOf(p.AB, sent, starts), segmentsOf(p.BA, received, starts)
	var parts []*Problem
	from := 0
	for i := range starts {
		end := last
		if i+1 < len(starts) {
			end = starts[i+1] - 1
		}
		part := &Problem{A: p.A, B: p.B, MinAB: p.MinAB, MinBA: p.MinBA, AB: joinedPieces(there[from : i+1]), BA: joinedPieces(back[from : i+1])}
		part.A.First, part.A.Last = starts[from], end
		enough := part.determinesSkew(clock.Sub(end, starts[from]))
		if i+1 == len(starts) {
			part.A.Last = max(end, p.A.Last)
			if k := len(parts) - 1; !enough && k >= 0 {
				before := parts[k]
				before.A.Last, before.AB, before.BA = part.A.Last, append(before.AB, part.AB...), append(before.BA, part.BA...)
				break
			}
		} else if !enough {
			continue
		}
		if len(parts) == 0 {
			part.A.First = min(part.A.First, p.A.First)
		}
		parts = append(parts, part)
		from = i + 1
	}
	return parts
}

// extent returns the messages' first and last instants on a's clock.
func (p *Problem) extent() (first, last clock.HostTime) {
	first, last = clock.Limit, -clock.Limit
	for m := range p.AB.All() {
		first, last = min(first, m.Sent), max(last, m.Sent)
	}
	for m := range p.BA.All() {
		first, last = min(first, m.Received), max(last, m.Received)
	}
	return first, last
}

// determinesSkew reports whether the messages of a segment say something of its skew.
func (p *Problem) determinesSkew(span int64) bool {
	for _, way := range []*Problem{{AB: p.AB}, {BA: p.BA}} {
		first, last := way.extent()
		if way.AB.Len()+way.BA.Len() < 2 || clock.Sub(last, first) < span/4 {
			return false
		}
	}
	return true
}

// segmentsOf deals messages to the segments that begin at starts. Pieces in order are cut, not copied.
func segmentsOf(messages Messages, stamp func(trace.Message) clock.HostTime, starts []clock.HostTime) []Messages {
	out := make([]Messages, len(starts))
	for _, piece := range messages {
		for from := 0; from < len(piece); {
			i := segmentAt(starts, stamp(piece[from]))
			until := clock.HostTime(math.MaxInt64)
			if i+1 < len(starts) {
				until = starts[i+1]
			}
			to := from + 1
			for to < len(piece) && stamp(piece[to]) >= starts[i] && stamp(piece[to]) < until {
				to++
			}
			out[i] = append(out[i], piece[from:to])
			from = to
		}
	}
	return out
}

// segmentAt returns the segment of an instant not before the first start.
func segmentAt(starts []clock.HostTime, at clock.HostTime) int {
	lo, hi := 0, len(starts)
	for hi-lo > 1 { // starts[lo] <= at, and starts[hi] > at
		if mid := lo + (hi-lo)/2; starts[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func joinedPieces(segments []Messages) (out Messages) {
	for _, m := range segments {
		out = append(out, m...)
	}
	return out
}
