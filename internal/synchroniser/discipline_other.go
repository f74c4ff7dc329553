//go:build !linux

package synchroniser

import "errors"

// NewSystemClock returns an error: only Linux has clock_adjtime.
func NewSystemClock() (SystemClock, error) {
	return nil, errors.New("--discipline needs Linux (clock_adjtime)")
}
