package live

import (
	"testing"
	"time"

	"meridian/order"
)

func TestWhatWasRecordedBeforeIsAlignedAsItWouldHaveBeenThen(t *testing.T) {
	const seconds = 12
	hosts := talk(seconds, 11)
	f := follow(t, hosts[:], Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}})
	f.step(0, 1, 1) // time does not pass: all is read at once
	f.finish()
	s := f.Session
	bounded, of := 0, 0
	for _, x := range f.sink.taken {
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
