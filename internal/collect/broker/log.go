package broker

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Bounds of what is told of clients that are refused. What they send is in the lines.
const (
	sayEvery = time.Second
	maxLine  = 500 // bytes
)

// refusals tells people what the NATS server calls errors: clients without a key or with an unknown one, subjects that a role does not permit, connections
// beyond a limit. One line a second is told, with the number of those that were not.
type refusals struct {
	say func(format string, args ...any)

	mu     sync.Mutex
	told   time.Time
	untold int
}

func (r *refusals) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.told) < sayEvery {
		r.untold++
		return
	}
	line := fmt.Sprintf(format, args...)
	line = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(line[:min(len(line), maxLine)], "?"))
	if r.untold > 0 {
		line += fmt.Sprintf(" (and %d lines more)", r.untold)
	}
	r.told, r.untold = now, 0
	r.say("broker: %s", line)
}

func (r *refusals) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// The rest is no refusal.

func (*refusals) Noticef(string, ...any) {}
func (*refusals) Warnf(string, ...any)   {}
func (*refusals) Debugf(string, ...any)  {}
func (*refusals) Tracef(string, ...any)  {}
