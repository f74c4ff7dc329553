package live

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"meridian/order"
	"meridian/trace"
)

var packetsLong = flag.Int("packets-long", 60_000, "how many packets TestMemoryIsFlatOverALongRunOfPackets follows")

// messageCount counts the ends of messages, and keeps none.
type messageCount struct {
	s    *Session
	ends int
}

func (x *messageCount) Write(e *trace.TimelineEvent, _ order.Note) error {
	if x.s.Schema().Streams[e.Stream].Kind == trace.Messages {
		x.ends++
	}
	return nil
}

func (x *messageCount) Step(*Session) error { return nil }

// heapInUse returns the size of what is alive.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools hold goes at the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryIsFlatOverALongRunOfPackets follows two captures for many windows of the matcher.
func TestMemoryIsFlatOverALongRunOfPackets(t *testing.T) {
	const (
		rate = 250 // messages a second of the virtual time
		part = 10  // seconds, of a window
	)
	dir := t.TempDir()
	w := &wire{t: t, flags: true, step: 200 * time.Millisecond}
	s := w.open(w.encode(dir))
	sink := &messageCount{s: s.Session}
	s.To(sink)
	n, least, most := 0, uint64(0), uint64(0)
	parts := max(*packetsLong/2/rate, 6*part) / part
	for k := range parts {
		// The packets of a part of the time replace those that were written.
		w.hosts, w.sent = [2]wireHost{}, nil
		begin, end := time.Duration(k*part)*time.Second, time.Duration((k+1)*part)*time.Second
		for i := range rate * part {
			w.send(n&1, begin+time.Duration(i)*time.Second/rate, 150*time.Microsecond, datagram(t, n&1, uint16(n), 5000, number(n)))
			n++
		}
		w.encode(dir)
		if k > 0 {
			for i := range w.hosts { // the file has its header
				h := &w.hosts[i]
				header := h.header()
				h.bytes = h.bytes[header:]
				for j := range h.ends {
					h.ends[j] -= header
				}
			}
		}
		middle := (begin + end) / 2 // no window begins there
		w.run(s, begin, middle, nil)
		if at := heapInUse(); k == parts/2 {
			least, most = at, at
		} else if k > parts/2 {
			least, most = min(least, at), max(most, at)
		}
		w.run(s, middle, end, nil)
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d packets; the heap is %.1f to %.1f MB over the last half", 2*n, float64(least)/1e6, float64(most)/1e6)
	if sink.ends != 2*n {
		t.Errorf("%d ends of %d messages", sink.ends, n)
	}
	if float64(most) > 1.05*float64(least) {
		t.Errorf("the heap is %d to %d bytes over the last half", least, most)
	}
}
