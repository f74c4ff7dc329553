package bound

import (
	"slices"

	"meridian/align/pair"
	"meridian/trace"
)

// plotter plots a message.
type plotter = func(trace.Message) point

// gather returns the corners of the hulls of messages in even cells: the lower ones for side 1, the upper ones for -1.
func gather(messages pair.Messages, at plotter, side, first, perNs float64, cells int) [][]point {
	out := make([][]point, cells)
	sorted := make([]int, cells) // points of each cell from the first that are a hull already
	const many = 32              // points that are gathered before they are reduced to a hull
	reduce := func(i int) {
		out[i] = graham(out[i], side)
		sorted[i] = len(out[i])
	}
	for m := range messages.All() {
		q := at(m)
		i := min(max(int((q.x-first)*perNs), 0), cells-1)
		if out[i] = append(out[i], q); len(out[i])-sorted[i] == many {
			reduce(i)
		}
	}
	for i := range out {
		reduce(i)
		out[i] = slices.Clip(out[i])
	}
	return out
}
