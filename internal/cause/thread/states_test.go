package thread

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/cause"
	"meridian/internal/testseed"
)

func everyRow(int) bool { return true }

// TestStatesSayWhyAThreadIsBlocked plants one wait of each kind.
func TestStatesSayWhyAThreadIsBlocked(t *testing.T) {
	t.Parallel()
	w := NewWorld(1, &cause.Model{Hosts: []int{0}, MinDelay: 1})
	h := w.Host(0, 0)
	h.Row(7, 3)
	h.Row(8, 4)
	wait := func(at int64, call string, word uint64, result, left int64, waker int32, context uint8) {
		h.Enter(at, 7, call, word)
		h.Switch(at+10, 0, 7, 8, left, true, true)
		h.Wake(at+60, 0, 7, waker, context)
		h.Switch(at+70, 0, 8, 7, preempted, true, true)
		h.Leave(at+80, 7, result)
	}
	h.Switch(1000, 0, 0, 7, 0, true, true)
	wait(1100, "clock_nanosleep", 0, 0, 1, 0, InHardIRQ)
	wait(1200, "read", 0, 1, 1, 8, InThread)
	wait(1300, "epoll_wait", 4, 0, 1, 0, InHardIRQ)
	wait(1400, "fsync", 0, 0, uninterruptible, 0, InHardIRQ)
	wait(1500, "kill", 0, 0, 4, 8, InThread)
	h.Switch(1600, 0, 7, 8, preempted, true, true)
	h.Switch(1650, 0, 8, 7, 1, true, true)
	h.Switch(1700, 0, 7, 0, 0x80, true, true)
	h.Switch(1800, 0, 0, 8, 0, true, true)
	got, err := w.States(context.Background(), 900, 2000, func(row int) bool { return row == 3 })
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range got {
		lines = append(lines, fmt.Sprintf("%s|%s|%s %d×%d %d", x.State, x.Why, x.Call, x.Count, x.Sum, x.Longest))
	}
	slices.Sort(lines)
	want := []string{
		"blocked|another thread|read 1×50 50", "blocked|disk|fsync 1×50 50", "blocked|sleep|clock_nanosleep 1×50 50", "blocked|stopped|kill 1×50 50",
		"blocked|timer of an event loop|epoll_wait 1×50 50", "ended|| 1×300 300", "not known|before its first event| 1×100 100",
		"runnable|preempted or yielded| 1×50 50", "runnable|woken| 5×50 10", "running|| 7×350 110",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("states are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// TestStatesOfAThreadSumToTheStretch draws switches and wake-ups of any kind, lost ones too.
func TestStatesOfAThreadSumToTheStretch(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		w := NewWorld(1, &cause.Model{Hosts: []int{0}, MinDelay: 1})
		h, at := w.Host(0, 0), rapid.Int64Range(-1<<40, 1<<40).Draw(t, "origin")
		from := at + rapid.Int64Range(-50, 200).Draw(t, "from")
		to := from + rapid.Int64Range(1, 300).Draw(t, "length")
		seen, ran := map[int]bool{}, int64(0)
		on, since := int32(0), int64(0)
		count := func(until int64) {
			if on == 1 {
				ran += max(0, min(until, to)-max(since, from))
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			at += rapid.Int64Range(0, 20).Draw(t, "later")
			if rapid.Bool().Draw(t, "wakes") {
				h.Wake(at, 0, rapid.Int32Range(1, 3).Draw(t, "tid"), rapid.Int32Range(-1, 3).Draw(t, "waker"), uint8(rapid.IntRange(0, 4).Draw(t, "context")))
				continue
			}
			next := rapid.Int32Range(0, 3).Draw(t, "next")
			for _, tid := range []int32{on, next} {
				if tid > 0 {
					h.Row(tid, int(tid))
					seen[int(tid)] = true
				}
			}
			count(at)
			h.Switch(at, 0, on, next, rapid.SampledFrom([]int64{0, 1, 2, 4, 0x20, 0x80, preempted}).Draw(t, "left"), true, true)
			on, since = next, at
		}
		count(at)
		got, err := w.States(context.Background(), from, to, everyRow)
		if err != nil {
			t.Fatal(err)
		}
		sums, running := map[int]int64{}, int64(0)
		for _, x := range got {
			if sums[x.Row] += x.Sum; x.Row == 1 && x.State == "running" {
				running += x.Sum
			}
			if x.Longest > x.Sum || x.Count < 1 {
				t.Errorf("%+v", x)
			}
		}
		for row := range seen {
			if sums[row] != to-from {
				t.Errorf("the states of thread %d sum to %d of %d: %+v", row, sums[row], to-from, got)
			}
		}
		if running != ran {
			t.Errorf("thread 1 ran %d, not %d: %+v", running, ran, got)
		}
	})
}
