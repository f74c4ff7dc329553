package cause

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestNoPieceOnAHostIsShownShorterThanNothing(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var pieces []Piece
		at := int64(100)
		for range rapid.IntRange(1, 12).Draw(t, "pieces") {
			p := Piece{From: rapid.IntRange(-1, 0).Draw(t, "from"), Begin: at, End: at + rapid.Int64Range(-20, 50).Draw(t, "length")}
			pieces, at = append(pieces, p), p.End
		}
		pieces = append(pieces, Piece{From: 0, Begin: at, End: at + 30})
		got := Shown(pieces)
		checkPath(t, got, pieces[0].Begin, pieces[len(pieces)-1].End)
		for i, p := range got {
			if p.From < 0 && p.Length() != max(0, pieces[i].Length()) {
				t.Fatalf("piece %d of %+v is %d long, was %d", i, got, p.Length(), pieces[i].Length())
			}
		}
	})
}
