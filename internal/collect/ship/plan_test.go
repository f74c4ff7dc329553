package ship

import (
	"testing"
	"time"
)

func TestTheDirectoryIsLookedAtMoreOftenWhileSomethingWaits(t *testing.T) {
	d := newDirectory(t.TempDir(), DefaultClasses)
	f := &file{name: "kernel_0", class: d.classes.of("kernel_0"), whole: 100}
	d.files[f.name], d.order = f, []*file{f}
	server := &peer{state: opening, files: make(map[string]*progress)}
	s := &Shipper{o: Options{Every: time.Second}, plan: plan{d: d, peers: []*peer{server}, window: 10, chunk: 10}}
	for _, step := range []struct {
		state peerState
		sent  int64
		want  time.Duration
	}{
		{opening, 0, time.Second}, // nobody takes anything yet
		{open, 0, behindEvery},
		{open, 99, behindEvery},
		{open, 100, time.Second},
	} {
		server.state = step.state
		server.of(f.name).sent = step.sent
		s.behind.Store(s.plan.waiting())
		if got := s.pause(); got != step.want {
			t.Errorf("with %d of 100 bytes sent to a server in state %d the pause is %v, not %v", step.sent, step.state, got, step.want)
		}
	}
	if s.o.Every = time.Millisecond; s.pause() > time.Millisecond {
		t.Error("a pause is longer than it is set")
	}
}
