package order

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// sorterLoad pushes events of 64 streams, six integers each, one every microsecond, and advances every millisecond, with the
// default frame of 20 ms: 20,000 events are held.
type sorterLoad struct {
	s      *Sorter
	record trace.TimelineEvent
	at     clock.TimelineTime
	next   int
}

func newSorterLoad() *sorterLoad {
	l := &sorterLoad{s: NewSorter(SorterOptions{}), at: 1_700_000_000_000_000_000}
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
		// The streams take turns in an order that is not that of their numbers.
		r.Stream = l.next * 37 % 64
		r.Host, r.Time = r.Stream/16, l.at.Add(-1000*(1+37*7)) // it came some time ago
		r.Event.Time, r.Low, r.High, r.Bounded = clock.HostTime(r.Time), r.Time-100, r.Time+100, true
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

func BenchmarkSorter(b *testing.B) {
	l := newSorterLoad()
	var count, sum int64
	emit := func(r *trace.TimelineEvent, _ Note) error {
		count++
		sum += r.Values[5].Int()
		return nil
	}
	if err := l.push(100_000, emit); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := l.push(b.N, emit); err != nil {
		b.Fatal(err)
	}
}

func TestASorterAllocatesNothingInTheSteadyState(t *testing.T) {
	l := newSorterLoad()
	emit := func(*trace.TimelineEvent, Note) error { return nil }
	if err := l.push(100_000, emit); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(5, func() {
		if err := l.push(20_000, emit); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for 20,000 events", n)
	}
}
