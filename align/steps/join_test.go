package steps

import (
	"testing"

	"meridian/clock"
)

// pieceAhead is a piece of a clock that is some ns ahead of the timeline, with bounds of 100 ns on either side.
func pieceAhead(first, last clock.HostTime, ahead int64) Piece {
	curve := func(by int64) clock.Curve {
		at := func(x clock.HostTime) clock.Knot {
			return clock.Knot{X: x, Y: clock.TimelineTime(int64(x) - ahead + by)}
		}
		return clock.Curve{at(first), at(last + 1)}
	}
	return Piece{First: first, Last: last, Map: clock.Map{Mid: curve(0), Low: curve(-100), High: curve(100)}}
}

func TestReadingsBeyondAClockThatWasSetFarBackAreThoseOfItsLastPiece(t *testing.T) {
	const hour = 3_600_000_000_000
	// The clock is three hours ahead of its last piece, which is shorter than the distance that curves reach beyond the pieces.
	pieces := []Piece{pieceAhead(3*hour, 4*hour, 3*hour), pieceAhead(1*hour+2000, 1*hour+3000, 0)}
	m := Join(pieces)
	for _, beyond := range []clock.HostTime{4*hour + 5000, 5 * hour, 20 * hour} {
		low, high, lowOK, highOK := m.Bounds(beyond)
		if want := clock.TimelineTime(beyond); !lowOK || !highOK || low > want || high < want || low > high {
			t.Errorf("a reading of %d lies within %d to %d, not at %d", beyond, low, high, want)
		}
		if got, want := m.At(beyond), clock.TimelineTime(beyond); got != want {
			t.Errorf("a reading of %d is placed at %d, not at %d", beyond, got, want)
		}
	}
}

func TestAPieceThatEndsAfterTheNextBeganBoundsNothing(t *testing.T) {
	pieces := []Piece{pieceAhead(10_000, 20_000, 0), pieceAhead(5_000, 6_000, -10_000)}
	if m := Join(pieces); m.Low != nil || m.High != nil {
		t.Errorf("the first piece ends at 20 us and the second begins at 15 us: %+v", m)
	}
}
