package main_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// waited collects what a command writes. Tests wait for a text.
type waited struct {
	t    *testing.T
	more chan struct{} // holds a word when more was written

	mu  sync.Mutex
	all bytes.Buffer
}

func newWaited(t *testing.T) *waited { return &waited{t: t, more: make(chan struct{}, 1)} }

func (w *waited) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.all.Write(b)
}

func (w *waited) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// await returns when a text was written.
func (w *waited) await(text string) {
	w.t.Helper()
	deadline := time.After(time.Minute)
	for !strings.Contains(w.String(), text) {
		select {
		case <-w.more:
		case <-deadline:
			w.t.Fatalf("%q is not said: %s", text, w)
		}
	}
}
