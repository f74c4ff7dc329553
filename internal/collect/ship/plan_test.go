package ship

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheDirectoryIsLookedAtMoreOftenWhileSomethingWaits(t *testing.T) {
	d := newDirectory(t.TempDir(), DefaultClasses)
	f := &file{name: "kernel_0", class: d.classes.of("kernel_0"), whole: 100}
	d.files[f.name], d.order = f, []*file{f}
	server := &peer{state: opening, files: make(map[string]*progress)}
	for _, step := range []struct {
		state peerState
		sent  int64
		every time.Duration
		want  time.Duration
	}{
		{opening, 0, time.Second, time.Second}, // nobody takes anything yet
		{open, 0, time.Second, behindEvery},
		{open, 99, time.Second, behindEvery},
		{open, 100, time.Second, time.Second},
		{open, 0, time.Millisecond, time.Millisecond}, // not later than it is set
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Shipper{o: Options{Every: step.every}, plan: plan{d: d, peers: []*peer{server}, window: 10, chunk: 10}, fell: make(chan struct{}, 1)}
			server.state = step.state
			server.of(f.name).sent = step.sent
			s.isBehind(s.plan.waiting())
			begun := time.Now()
			if s.rest(t.Context()); time.Since(begun) != step.want {
				t.Errorf("with %d of 100 bytes sent to a server in state %d the pause is %v, not %v", step.sent, step.state, time.Since(begun), step.want)
			}
		})
	}
}

func TestAPauseIsCutShortWhenMoreWaitsThanMayBeOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Shipper{o: Options{Every: time.Hour}, fell: make(chan struct{}, 1)}
		s.isBehind(true)
		s.isBehind(false) // the word of it is left behind, and says nothing any more
		time.AfterFunc(time.Minute, func() { s.isBehind(true) })
		begun := time.Now()
		if s.rest(t.Context()); time.Since(begun) != time.Minute+behindEvery {
			t.Errorf("the pause is %v, not %v", time.Since(begun), time.Minute+behindEvery)
		}
	})
}
