package tracefs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	meaning "meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
	"meridian/trace"
)

// peer opens the recorder by eBPF with the same options, or ends the test.
func peer(t *testing.T, o Options) *kerneltest.Recording {
	t.Helper()
	r, err := kernel.Open(o, warn(t))
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	rec := kerneltest.New(t, r)
	rec.Read(context.Background())
	return rec
}

// tell writes an event as both recorders should have it, but for its stamp.
func tell(t *testing.T, e *kerneltest.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CPU %d %s", e.CPU, e.Name())
	for i := range e.Values {
		v, f := &e.Values[i], &e.Type.Fields[i]
		switch {
		case f.Name == "prev_state" && (v.Bits >= 0x10 || !e.Value(t, "prev_followed").Bool()):
			continue // of threads that end, and of idle ones of the kernel's: ftrace has its own codes
		case f.Type.Kind == trace.Text:
			fmt.Fprintf(&b, " %s=%q", f.Name, v.Data)
		default:
			fmt.Fprintf(&b, " %s=%d", f.Name, v.Int())
		}
	}
	return b.String()
}

// of counts the events of some processes, by what they tell.
func of(t *testing.T, events []kerneltest.Event, family map[int64]bool) map[string]int {
	n := map[string]int{}
	for i := range events {
		e := &events[i]
		name := "tid"
		switch e.Name() {
		case "sched_switch":
			if family[e.Value(t, "next_tid").Int()] || family[e.Value(t, "prev_tid").Int()] {
				n[tell(t, e)]++
			}
			continue
		case "sched_process_fork":
			name = "parent_tid"
		case "sched_process_free": // at any time later
			continue
		}
		if family[e.Value(t, name).Int()] {
			n[tell(t, e)]++
		}
	}
	return n
}

func TestTheEventsAreThoseOfTheRecorderByEBPF(t *testing.T) {
	pid, pass := kerneltest.Gate(t, "studied", "/bin/true; (/bin/true; cat /proc/self/comm | /bin/cat); sleep 0.01")
	o := Options{Groups: kernel.Sched | kernel.Syscalls, Pids: []int{pid}}
	other := peer(t, o)
	rec, r := record(t, o)
	if !slices.EqualFunc(rec.Recorder.Classes(), other.Recorder.Classes(), func(a, b trace.Class) bool {
		return a.Name == b.Name && a.Category == b.Category && a.Context == b.Context && fmt.Sprint(a.Fields) == fmt.Sprint(b.Fields)
	}) {
		t.Error("the classes differ")
	}
	pass()
	events, theirs := rec.Stop(), other.Stop()
	family := map[int64]bool{} // children alone: they began and ended while both recorded
	for i := range theirs {
		if e := &theirs[i]; e.Name() == "sched_process_fork" {
			family[e.Value(t, "child_tid").Int()] = true
		}
	}
	want, got := of(t, theirs, family), of(t, events, family)
	wrong, withheld := 0, int64(0)
	for s, n := range want {
		// Some kernels' ftrace does not tell of switches that end a processor's rest; those are to be counted.
		if got[s] < n && strings.Contains(s, " sched_switch ") && strings.Contains(s, "prev_tid=0 ") {
			withheld += int64(n - got[s])
			continue
		}
		if got[s] != n {
			if wrong++; wrong < 10 {
				t.Errorf("%d of %d: %s", got[s], n, s)
			}
		}
	}
	// The kernel may run no program for a wake-up, which is counted then.
	unseen, missed := 0, int(other.Missed())
	for s, n := range got {
		if want[s] == 0 {
			if unseen += n; unseen <= missed && strings.Contains(s, " sched_wak") {
				continue
			}
			if wrong++; wrong < 10 {
				t.Errorf("%d too many: %s", n, s)
			}
		}
	}
	if len(family) < 5 || len(want) < 100 || r.decoder.gaps < withheld {
		t.Errorf("%d processes, %d events, %d switches missing of %d", len(family), len(want), r.decoder.gaps, withheld)
	}
	t.Logf("%d processes, %d different events, %d switches withheld", len(family), len(want), withheld)
}

func TestPacketsAreThoseOfTheRecorderByEBPF(t *testing.T) {
	lab := netlab.TwoHosts(t)
	o := Options{Groups: kernel.Net | kernel.IRQ, BufferSize: 32 << 20} // the machine may be busy
	other := peer(t, o)
	rec, _ := record(t, o)
	begin, err1 := monotonic()
	lab.Run(netlab.Traffic{From: "web", To: "db", Bulk: []int64{1 << 20}, Chats: 2, Requests: 50, Datagrams: 50, Pings: 10})
	end, err2 := monotonic()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	events, theirs := rec.Stop(), other.Stop()
	lost := int(rec.Lost() + other.Lost())
	tally := func(events []kerneltest.Event) map[string]int {
		n := map[string]int{}
		for i := range events {
			e := &events[i]
			if e.Stamp < begin || e.Stamp > end { // one may have recorded sooner and longer
				continue
			}
			switch e.Name() {
			case "net_dev_queue", "netif_receive_skb":
				n[fmt.Sprintf("%s %d %x %d %s", e.Name(), e.CPU, e.Value(t, "skbaddr").Bits, e.Value(t, "len").Bits, e.Value(t, "name").Data)]++
			case "napi_poll":
				n[fmt.Sprintf("napi_poll %d %x %s %d %d", e.CPU, e.Value(t, "napi").Bits, e.Value(t, "dev_name").Data, e.Value(t, "work").Int(), e.Value(t, "budget").Int())]++
			}
		}
		return n
	}
	// What else goes on in this machine at the very beginning and end, one may have within and the other not.
	want, got := tally(theirs), tally(events)
	common, different := 0, 0
	for _, s := range slices.Collect(maps.Keys(want)) {
		common += min(want[s], got[s])
		different += max(want[s], got[s]) - min(want[s], got[s])
	}
	if common < 1000 || different > 10+lost {
		t.Errorf("%d events in common, %d not, %d are counted as lost", common, different, lost)
	}
	t.Logf("%d events in common, %d not", common, different)
}

func TestRowsUnderstandTheEvents(t *testing.T) {
	rec := kerneltest.Rows(t, begin, 32<<20)
	// Packets are taken for what they are: without headers.
	c, err := meaning.Packets(rec.Source(nil), "web", "events", nil, warn(t))
	if err != nil || c.Packets.Len() != 0 && c.Packets.At(0).Flow != trace.NoFlow {
		t.Errorf("%v, %d packets", err, c.Packets.Len())
	}
}
