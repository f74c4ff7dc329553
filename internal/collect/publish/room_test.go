package publish

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// follows runs a publisher whose empty timelines may make room after some time. log has its lines.
func follows(t *testing.T, stored string, emptyAfter time.Duration) (p *Publisher, log func(part string) int) {
	var mu sync.Mutex
	var lines []string
	p, err := New(Options{Dir: stored, Latency: 2 * time.Millisecond, Log: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf(format, args...))
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.emptyAfter = emptyAfter
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p, func(part string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			if strings.Contains(line, part) {
				n++
			}
		}
		return n
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what)
		}
	}
}

func TestEmptySessionsOfOneHostMakeRoomForItsLaterOnes(t *testing.T) {
	t.Parallel()
	stored := t.TempDir()
	w := record(t, stored, "full", "web", ticks(0, 100)) // in one packet
	w.grow(0.5)
	for i := range mostOfHost - 1 {
		record(t, stored, fmt.Sprintf("empty%02d", i), "web", ticks(0, 1)).grow(0)
	}
	p, log := follows(t, stored, time.Millisecond)
	await(t, "sessions are not followed", func() bool { return len(p.all()) == mostOfHost })
	record(t, stored, "db", "db", ticks(0, 100)).grow(1)
	awaitState(t, p, func(s *State) bool { return s.Session == "db" && s.Events == 100 })
	if n := log("makes room"); n > 0 {
		t.Errorf("%d sessions made room for that of another host", n)
	}
	full := p.timeline("full")
	w.grow(1)
	awaitState(t, p, func(s *State) bool { return s.Session == "full" && s.Events == 100 })
	record(t, stored, "next", "web", ticks(0, 100)).grow(1)
	awaitState(t, p, func(s *State) bool { return s.Session == "next" && s.Events == 100 })
	await(t, "no session has ended", func() bool { return len(p.all()) == mostOfHost+1 })
	if log("makes room for next, since no event of it has come: 16 sessions of host web alone") != 1 || log("makes room") != 1 {
		t.Error("it is not said, once, that a session made room")
	}
	if p.timeline("full") != full {
		t.Error("a session with events made room")
	}
}

func TestAHostWithManySessionsTakesTheTimelinesOfNoOther(t *testing.T) {
	t.Parallel()
	stored := t.TempDir()
	for i := range maxFollowed + 6 {
		record(t, stored, fmt.Sprintf("a%02d", i), "web", ticks(0, 1)).grow(0)
	}
	p, log := follows(t, stored, time.Hour)
	await(t, "sessions are not followed", func() bool { return len(p.all()) == mostOfHost })
	record(t, stored, "db", "db", ticks(0, 100)).grow(1)
	both := record(t, stored, "together", "web", ticks(0, 100)) // an operator's, of more than one host
	record(t, stored, "together", "db", ticks(0, 100)).grow(1)
	both.grow(1)
	for _, session := range []string{"db", "together"} {
		awaitState(t, p, func(s *State) bool { return s.Session == session && s.Events >= 100 })
	}
	if n := len(p.all()); n != mostOfHost+2 {
		t.Errorf("%d timelines", n)
	}
	if n := log("16 sessions of host web alone are followed already; name the wanted ones by --timeline"); n != 1 || log("makes room") != 0 {
		t.Errorf("it is said %d times that there is no room", n)
	}
}
