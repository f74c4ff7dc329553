package eventtest

import (
	"fmt"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// AddCalls adds n events as traces have them: calls with two fields on rows that take turns, and a message in ten events.
func (s *Story) AddCalls(n int) {
	for h := range 3 {
		for r := range 4 {
			s.Row(fmt.Sprint("host", h), fmt.Sprint("worker", r), trace.Thread, int64(r), -1)
		}
	}
	s.Class("call", Field("name", trace.Text), Field("size", trace.Uint))
	for i := range n / 10 {
		row, flow := i%12, uint64(i+1)
		s.Message(row, clock.HostTime(i*1000), flow, trace.Sends)
		for k := range 4 {
			s.Add(row, clock.HostTime(i*1000+k), trace.Begin, uint64(k), "call", trace.OfText("/index"), trace.OfUint(uint64(i)))
			s.Add(row, clock.HostTime(i*1000+100+k), trace.End, uint64(k), "call")
		}
		s.Message((row+5)%12, clock.HostTime(i*1000+200), flow, trace.Receives)
	}
}

// AddUnpaired adds a row of seven events: two ends of slices that did not begin, four begins of slices that do not end, of which
// b takes the number of a, and an instant.
func (s *Story) AddUnpaired() {
	row := s.Row("h", "row", trace.Thread, 1, -1)
	s.Add(row, 0, trace.End, 0, "n")
	s.Add(row, 1, trace.End, 9, "n")
	s.Add(row, 2, trace.Begin, 0, "n")
	s.Add(row, 3, trace.Begin, 4, "a")
	s.Add(row, 4, trace.Begin, 4, "b")
	s.Add(row, 5, trace.Begin, 5, "c")
	s.Add(row, 9, trace.Instant, 0, "i")
}

// AllocatesLittle calls write with growing numbers, and fails unless it makes at most two allocations in 1000 calls.
func AllocatesLittle(t *testing.T, write func(i int)) {
	t.Helper()
	i := 0
	next := func() {
		for range 1000 {
			write(i)
			i++
		}
	}
	next()
	if n := testing.AllocsPerRun(20, next); n > 2 {
		t.Errorf("%v allocations for 1000 records", n)
	}
}

// ReportRate reports how fast a benchmark wrote so many records in each round, and how many bytes one takes.
func ReportRate(b *testing.B, records, size int) {
	b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
	b.ReportMetric(float64(size)/float64(records), "B/record")
}
