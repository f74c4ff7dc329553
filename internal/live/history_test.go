package live

import (
	"testing"
	"time"

	"meridian/order"
	"meridian/trace"
)

func TestWhatWasRecordedBeforeIsAlignedAsItWouldHaveBeenThen(t *testing.T) {
	const seconds = 12
	hosts := talk(seconds, 11)
	dir := t.TempDir()
	var o Options
	for i := range hosts {
		o.Inputs = append(o.Inputs, Input{Host: hosts[i].name, Dir: hosts[i].write(t, dir)})
	}
	now := time.Unix(5, 0) // it does not pass: all is read at once
	o.Now, o.Sorter = func() time.Time { return now }, order.SorterOptions{Frame: 100 * time.Millisecond}
	var w trace.Warnings
	s, err := New(o, &w)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{s: s}
	s.To(c)
	for busy := true; busy; {
		if busy, err = s.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	bounded, of := 0, 0
	for _, x := range c.taken {
		if s.Schema().Hosts[x.host] != "b" {
			continue
		}
		if of++; !x.bounded {
			continue
		}
		bounded++
		if want := invertB(int64(x.stamp)); int64(x.low) > want+1 || int64(x.high) < want-1 {
			t.Fatalf("the event at %d: truth %d is outside of %d to %d", x.stamp, want, x.low, x.high)
		}
	}
	if bounded < of*9/10 || of != len(hosts[1].events) || s.Outcome().Late > 0 {
		t.Errorf("%d of %d events are bounded, %d late", bounded, of, s.Outcome().Late)
	}
}
