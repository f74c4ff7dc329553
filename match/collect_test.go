package match

import (
	"context"
	"reflect"
	"runtime"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// How many processors there are, and which of them is quicker, must not show: what follows adds up in this order.
func TestMessagesComeInTheSameOrderWhoeverMatchedThem(t *testing.T) {
	w := newWorld(1000)
	const conversations = 300
	for i := range 20 * conversations {
		from, to := addrA, addrB
		from.Port += uint16(i % conversations)
		forth := i/conversations%2 == 0
		if !forth {
			from, to = to, from
		}
		p := trace.Packet{Kind: trace.Datagram, Time: clock.HostTime(int64(i) * 1000), Length: 100, Digest: uint32(i+1) * 2654435761, ID: uint16(i)}
		w.record(!forth, 17, from, to, p)
		p.Time += 700
		w.record(forth, 17, from, to, p)
	}
	w.sorted()
	match := func(processors int) []trace.Channel {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		var log trace.Warnings
		r, err := Match(context.Background(), []*trace.Capture{w.a, w.b}, Options{}, &log)
		if err != nil {
			t.Fatal(err)
		}
		return r.Channels
	}
	want, n := match(1), 0
	for _, c := range want {
		n += len(c.Messages)
	}
	if n != 20*conversations {
		t.Fatalf("%d messages, not %d", n, 20*conversations)
	}
	for range 10 {
		if got := match(8); !reflect.DeepEqual(got, want) {
			t.Fatal("the order of the messages is another one")
		}
	}
}
