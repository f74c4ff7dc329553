//go:build !linux

package clockset

import (
	"errors"
	"time"
)

// Watcher watches the clock until it is closed.
type Watcher struct{}

// Watch fails: only Linux tells.
func Watch(time.Duration, func(set bool)) (*Watcher, error) {
	return nil, errors.New("only Linux tells when the clock is set")
}

// Close ends the watching.
func (w *Watcher) Close() {}
