//go:build !linux

package probe

// Steering returns 0: how the clock is steered is not known.
func (c systemClock) Steering() uint8 { return 0 }
