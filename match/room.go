package match

import (
	"iter"
	"unsafe"

	"meridian/trace"
)

// What is known of the packets of one conversation is in buffers that each worker fills anew. A conversation may be most of what captures
// hold, though: the arrays of a long one are kept where the captures' packets are.
//
//	conversation of up to longConversation packets    buffers on the heap, used again
//	a longer one                                      arrays of a trace.Memory, freed after it

// longConversation is how many packets of one end make a conversation a long one. Tests change it.
var longConversation = 1 << 17

// rooms gives the arrays of one conversation at a time.
type rooms struct {
	memory trace.Memory // nil for one that is not long
	taken  []func()
}

// begin says how many packets the conversation has at the end that has more, and where long ones are kept.
func (r *rooms) begin(packets int, m trace.Memory) {
	if r.memory = nil; packets > longConversation {
		r.memory = m
	}
}

// end frees the arrays. What was in them is gone.
func (r *rooms) end() {
	for _, free := range r.taken {
		free()
	}
	r.taken = r.taken[:0]
}

// room returns an empty slice for so many values: the buffer, which may have to grow, or an array of its own for a long conversation, which
// takes the buffer's place until the conversation ends.
func room[T any](r *rooms, buffer *[]T, values int) []T {
	if r == nil || r.memory == nil {
		return (*buffer)[:0]
	}
	*buffer = nil
	if values == 0 {
		return nil
	}
	array := trace.MakeIn[T](r.memory, values)
	r.taken = append(r.taken, func() {
		*buffer = nil
		trace.FreeIn(r.memory, array)
	})
	return array[:0:values]
}

// stretch is how many values of an array are read before its memory is told.
const stretch = 1 << 15

// stretches divides the places of an array into ranges [from, to), and tells the memory of each that is done. Nothing may be done to the
// array beside it that the memory is to know of.
func stretches[T any](array []T, m trace.Memory) iter.Seq2[int, int] {
	var value T
	return func(yield func(from, to int) bool) {
		for from := 0; from < len(array); from += stretch {
			to := min(from+stretch, len(array))
			if !yield(from, to) {
				return
			}
			trace.TouchedIn(m, (to-from)*int(unsafe.Sizeof(value)))
		}
	}
}
