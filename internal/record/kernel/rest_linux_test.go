package kernel

import "testing"

// TestRestsAreShortOnlyWhereMuchComes guards the recorder's own cost, and that a ring which fills up is soon looked at again.
func TestRestsAreShortOnlyWhereMuchComes(t *testing.T) {
	pause := shortRest
	for range 10 {
		pause = longer(pause, 0.001)
	}
	if pause != longRest {
		t.Errorf("while nearly nothing comes it rests %v, want %v", pause, longRest)
	}
	if got := longer(pause, 1./16); got != pause {
		t.Errorf("at a 16th full the rest goes from %v to %v", pause, got)
	}
	for range 10 {
		pause = longer(pause, 0.5)
	}
	if pause != shortRest {
		t.Errorf("while the rings are half full it rests %v, want %v", pause, shortRest)
	}
}
