package order

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// sorterLoad pushes events of six integers, one every microsecond, and advances every millisecond, with the default frame of 20 ms:
// 20,000 events are held. The streams, of 16 hosts, take turns in an order that is not that of their numbers.
type sorterLoad struct {
	s        *Sorter
	streams  int // a power of two
	messages bool
	record   trace.TimelineEvent
	at       clock.TimelineTime
	next     int
}

func newSorterLoad(streams int, messages bool) *sorterLoad {
	o := SorterOptions{MostFrame: DefaultFrame, ReasonTimeout: DefaultFrame}
	l := &sorterLoad{s: NewSorter(o), streams: streams, messages: messages, at: 1_700_000_000_000_000_000, next: 1}
	for i := range 6 {
		l.record.Values = append(l.record.Values, trace.OfInt(int64(1000*i)))
	}
	return l
}

func (l *sorterLoad) push(n int, emit func(*trace.TimelineEvent, Note) error) error {
	r := &l.record
	for range n {
		l.next++
		l.at += 1000
		r.Stream = l.next * 37 % l.streams
		// Every second one is 300 µs late, so that the heap has work.
		r.Host, r.Time = r.Stream%16, l.at-clock.TimelineTime(l.next%2*300_000)
		r.Event.Time, r.Low, r.High, r.Bounded = clock.HostTime(r.Time), r.Time-100, r.Time+100, true
		if l.messages { // received 299 µs before they are sent
			r.Flow, r.Role = uint64(l.next/2+1), trace.Role(1+l.next%2)
		}
		if err := l.s.Push(r); err != nil {
			return err
		}
		if l.next%1000 == 0 {
			if err := l.s.Advance(l.at, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

var sorterLoads = []struct {
	name     string
	streams  int
	messages bool
}{{"64 streams", 64, false}, {"4096 streams", 4096, false}, {"64 streams, ends of messages", 64, true}}

func BenchmarkSorter(b *testing.B) {
	for _, load := range sorterLoads {
		b.Run(load.name, func(b *testing.B) {
			l := newSorterLoad(load.streams, load.messages)
			var sum int64
			emit := func(r *trace.TimelineEvent, _ Note) error {
				sum += r.Values[5].Int()
				return nil
			}
			if err := l.push(200_000, emit); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := l.push(b.N, emit); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func TestASorterAllocatesNothingInTheSteadyState(t *testing.T) {
	for _, load := range sorterLoads {
		l := newSorterLoad(load.streams, load.messages)
		emit := func(*trace.TimelineEvent, Note) error { return nil }
		if err := l.push(200_000, emit); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(3, func() {
			if err := l.push(20_000, emit); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for 20,000 events", load.name, n)
		}
		if st := l.s.Stats(); load.messages != (st.Repaired > 0) || st.TimedOut > 0 || st.Late > 0 {
			t.Errorf("%s: %d repaired, %d timed out, %d late", load.name, st.Repaired, st.TimedOut, st.Late)
		}
	}
}
