// Package pieces goes over long arrays, which may be files that are mapped. What a pass touches counts as the process's memory until a goroutine
// of the memory's owner has unmapped it. Where passes take all processors that goroutine would get its turn 10 ms later, when some hundreds of
// megabytes are mapped. So a pass gives it its turn between pieces, of some hundred kilobytes. In go arrays, out come pieces of them.
package pieces

import (
	"iter"
	"runtime"
	"slices"
)

// length is how many values a piece has at most.
const length = 1 << 13

// Of yields all values of arrays in their order, in pieces.
func Of[T any](arrays [][]T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for _, array := range arrays {
			for piece := range slices.Chunk(array, length) {
				if !yield(piece) {
					return
				}
				runtime.Gosched()
			}
		}
	}
}
