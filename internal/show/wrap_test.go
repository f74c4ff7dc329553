package show

import "testing"

func TestAJumpByAsMuchAsACounterOfMicrosecondsHoldsIsAWrap(t *testing.T) {
	for by, want := range map[int64]bool{
		-4_294_967_296_000: true, 4_294_967_296_000: true, -4_294_962_693_000: true, -4_290_000_000_000: true,
		-4_289_000_000_000: false, -4_301_000_000_000: false, -3_600_000_000_000: false, -4_294_967_296: false, 0: false,
	} {
		if IsCounterWrap(by) != want {
			t.Errorf("%d ns: %v", by, !want)
		}
	}
}
