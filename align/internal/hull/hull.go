// Package hull finds the corners of convex hulls over millions of messages, in time that is nearly linear.
//
// In go the messages of one direction in pieces, a function that plots a message as a point, and the arithmetic of points
// ([Plane]): align/pair has exact integers, align/bound has lifted points in float64. Out come the corners of the lower or
// the upper hull, by ascending x.
//
// The idea: a piece is one connection, nearly in order of x. The hull of a union is the hull of the corners of its parts.
// So each ordered run is scanned where it lies, and only the few corners that remain are sorted:
//
//	messages   | 1 2 3 4 5 6 7 | 3 4 5 6 | 2 9 4 |    runs, in order but for the last
//	corners    | 1   4     7   | 3     6 | 2 9   |    of each run
//	sorted     | 1 2 3 4 6 7 9 |                      and scanned once more
//
// The cost is O(n) for ordered runs of at least [minOrdered] points and O(n log n) for points in no order. Memory is one
// block of points and the corners found so far.
package hull

import (
	"slices"

	"meridian/align/internal/pieces"
	"meridian/trace"
)

// Plane is the arithmetic of points. Its functions get a part of the points, may reorder and overwrite it, and return the
// corners at its beginning.
type Plane[P any] struct {
	Ascending func(points []P) int // how many points from the first have strictly ascending x; at least 1
	Scan      func(points []P) []P // the hull of points in ascending order
	Sort      func(points []P) []P // the hull of points in any order
}

const (
	blockSize  = 4096           // points plotted at a time: a block stays in the second-level cache
	minOrdered = 32             // points that a run must have for a scan of its own
	maxCorners = 16 * blockSize // corners from which on the hull of those found so far replaces them
)

// Of returns the hull's corners, in memory of their own.
func Of[P any](messages [][]trace.Message, at func(trace.Message) P, plane Plane[P]) []P {
	var corners []P
	n := 0
	for _, piece := range messages {
		n += len(piece)
	}
	block := make([]P, 0, min(blockSize, n))
	for piece := range pieces.Of(messages) {
		for chunk := range slices.Chunk(piece, blockSize) {
			block = block[:0]
			for _, m := range chunk {
				block = append(block, at(m))
			}
			for rest := block; len(rest) > 0; {
				n := plane.Ascending(rest)
				if n < minOrdered { // hardly ordered: some runs are sorted together
					n = min(8*minOrdered, len(rest))
					corners = append(corners, plane.Sort(rest[:n])...)
				} else {
					corners = append(corners, plane.Scan(rest[:n])...)
				}
				rest = rest[n:]
			}
			if len(corners) > maxCorners {
				corners = plane.Sort(corners)
			}
		}
	}
	return slices.Clone(plane.Sort(corners))
}
