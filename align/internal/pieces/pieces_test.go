package pieces

import (
	"slices"
	"testing"
)

func TestAllValuesComeInOrder(t *testing.T) {
	t.Parallel()
	var arrays [][]int
	var want, got []int
	for _, n := range []int{0, 1, length - 1, 0, length, length + 1, 3 * length} {
		array := make([]int, n)
		for i := range array {
			array[i] = len(want)
			want = append(want, array[i])
		}
		arrays = append(arrays, array)
	}
	for piece := range Of(arrays) {
		if len(piece) == 0 || len(piece) > length {
			t.Fatalf("a piece of %d values", len(piece))
		}
		got = append(got, piece...)
	}
	if !slices.Equal(got, want) {
		t.Error("the values are others")
	}
	for range Of(arrays) {
		break // which ends it
	}
}
