package livetest_test

import (
	"context"
	"testing"
	"time"

	"meridian/align/live"
	"meridian/internal/livetest"
)

func TestTwo(t *testing.T) {
	s := livetest.Two(1, 10*time.Minute, time.Second, 2*time.Minute, live.Options{Interval: 5 * time.Second})
	for _, x := range s.Hosts[1].Clock.Steps {
		t.Logf("step at %v by %d", time.Duration(x.At), x.By)
	}
	w, err := livetest.Play(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.Timeline.Maps().Changes {
		t.Logf("%+v  %v  %v", c, w.Unfound, s.Hosts[1].Clock.Inverse(c.From))
	}
}
