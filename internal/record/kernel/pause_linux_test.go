package kernel

import "testing"

// TestPausesAreShortOnlyWhileMuchComes guards the recorder's own cost, and that a ring which fills up is soon read again.
func TestPausesAreShortOnlyWhileMuchComes(t *testing.T) {
	pause := minPause
	for range 10 {
		pause = nextPause(pause, maxPause, 0.001)
	}
	if pause != maxPause {
		t.Errorf("while nearly nothing comes it pauses %v, want %v", pause, maxPause)
	}
	if got := nextPause(pause, maxPause, 1./16); got != pause {
		t.Errorf("at a 16th full the pause goes from %v to %v", pause, got)
	}
	for range 10 {
		pause = nextPause(pause, maxPause, 0.5)
	}
	if pause != minPause {
		t.Errorf("while the rings are half full it pauses %v, want %v", pause, minPause)
	}
}
