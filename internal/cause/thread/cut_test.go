package thread

import (
	"testing"

	"meridian/internal/cause"
)

// By the estimate the reply alone took longer than the whole wait. Within the bounds the server may still have worked meanwhile: by how much is open, but it
// is shown as nothing, not as less than that.
func TestAStretchThatIsCutIsNeverShownShorterThanNothing(t *testing.T) {
	m := &cause.Model{Hosts: []int{0, 1}, Bounds: func(int, int64) cause.Bounds { return cause.Bounds{Below: 10, Above: 10, Known: true} }}
	w := &walk{World: NewWorld(2, m), pieces: []cause.Piece{
		{Row: 0, From: 1, Begin: 950, End: 1000, Class: -1},                   // the reply
		{Row: 1, From: -1, Begin: 900, End: 950, Class: -1, State: cause.CPU}, // at the server
		{Row: 1, From: 0, Begin: 850, End: 900, Class: -1},                    // the request
	}}
	w.cut(0, 45)
	if len(w.pieces) != 2 || w.pieces[1].Begin != 955 || w.pieces[1].End != 950 {
		t.Fatalf("cut to %+v; want the server's stretch cut to what is left by the estimate", w.pieces)
	}
	shown := cause.Shown([]cause.Piece{w.pieces[1], w.pieces[0]})
	if shown[0].Length() != 0 || shown[1].Length() != 45 || shown[0].Begin != 955 || shown[1].Begin != 955 {
		t.Fatalf("shown as %+v; want nothing at the server and 45 on the way", shown)
	}
	b := m.Sum([]cause.Piece{w.pieces[1], w.pieces[0]})
	for i := range b.Items {
		it := &b.Items[i]
		if low, high := b.Range(it); it.Key.State == cause.CPU && (low > 0 || high != 15) {
			t.Errorf("the server took %d to %d; want up to 15", low, high)
		}
	}
}
