package record

import (
	"path/filepath"
	"testing"

	"meridian/internal/record/kernel"
	"meridian/trace"
)

// TestKernelEventsAreKeptWholeFromAnInstantOn sends datagrams while kernel events are recorded of which the last part is kept, and has
// the first of them save a snapshot.
func TestKernelEventsAreKeptWholeFromAnInstantOn(t *testing.T) {
	events, source := kernelRecorder(t, kernel.Options{Groups: kernel.Net | kernel.Sched}, nil)
	dir := filepath.Join(t.TempDir(), "trace")
	made := make(chan Snapshot, 1)
	_, end := recorded(t, Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{source}, Keep: Keep{Bytes: MinKeepBytes},
		Trigger: []Trigger{trigger(t, "net_dev_queue,name=lo")}, Snapshot: func(s Snapshot) {
			select {
			case made <- s:
			default:
			}
		}})
	d := numberedDatagrams(t)
	const datagrams = 10 * eachPort
	send := func(from, to int) {
		for n := from; n < to; n++ {
			if err := d.send(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(0, datagrams-eachPort)
	x := <-made
	send(datagrams-eachPort, datagrams) // what other programs do meanwhile may have taken the place of those before
	s := end()
	events.Close()
	if s.Dropped == nil || x.Error != "" {
		t.Fatalf("%+v, %+v", s, x)
	}
	found, first := map[int]int{}, datagrams
	scan(t, dir, func(e *trace.Event, from trace.Source) {
		c := &from.Classes()[e.Class]
		if c.Name != "net_dev_queue" {
			return
		}
		udp := header{c.Fields, from.Values()}.into("network_header").into("transport_header")
		if to := udp.number("dest_port"); udp.number("source_port") == d.port && to >= firstNumbered {
			n := int(to-firstNumbered)*eachPort + int(udp.number("len")) - 8 - 1
			if found[n]++; int64(e.Time) > s.Dropped.WholeFrom {
				first = min(first, n)
			}
		}
	})
	missing := uint64(0)
	for n := first; n < datagrams; n++ {
		if found[n] != 1 {
			missing++
		}
	}
	if first == datagrams || missing > s.Total.Lost {
		t.Errorf("from %d on %d of %d datagrams are missing, %d events are counted as lost", first, missing, datagrams, s.Total.Lost)
	}
	if babeltraceWithLoss(t, dir) == 0 || babeltraceWithLoss(t, x.Dir) == 0 {
		t.Error("babeltrace2 reads nothing")
	}
}
