package live

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/order"
	"meridian/trace"
)

// origin is when the hosts of these tests begin, ns since 1970.
const origin = 1_700_000_000_000_000_000

// clockB is what the second host's clock shows when the first one's shows t: 3 s ahead and 40 ppm fast.
func clockB(t int64) int64 { return t + 3_000_000_000 + (t-origin)/25_000 }

// host is a host of a test, with its events in order.
type host struct {
	name   string
	events []trace.TimelineEvent
	more   []trace.Class // of events, the first has number 2
	second bool          // it has a second stream, number 1
}

// talk makes two hosts that exchange messages every 10 ms for some seconds, with events of their own every millisecond.
func talk(seconds int, seed uint64) [2]host {
	r := rand.New(rand.NewPCG(seed, 1))
	var a, b []trace.TimelineEvent
	flow := uint64(0)
	add := func(list *[]trace.TimelineEvent, at int64, class int, flow uint64, role trace.Role) {
		*list = append(*list, trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Class: class, Flow: flow, Role: role}, Time: clock.TimelineTime(at), Map: -1,
			Values: []trace.Value{trace.OfInt(int64(len(*list)))}})
	}
	for t := int64(origin); t < origin+int64(seconds)*1e9; t += 1_000_000 {
		add(&a, t, 0, 0, trace.NoRole)
		add(&b, clockB(t+500_000), 0, 0, trace.NoRole)
		if t%10_000_000 == 0 {
			flow++
			sent := t + r.Int64N(100_000)
			add(&a, sent, 1, flow, trace.Sends)
			received := sent + 20_000 + r.Int64N(30_000)
			add(&b, clockB(received), 1, flow, trace.Receives)
			flow++
			add(&b, clockB(received+10_000), 1, flow, trace.Sends)
			add(&a, received+10_000+20_000+r.Int64N(30_000), 1, flow, trace.Receives)
		}
	}
	sort := func(x, y trace.TimelineEvent) int { return int(x.Event.Time - y.Event.Time) }
	slices.SortStableFunc(a, sort)
	slices.SortStableFunc(b, sort)
	return [2]host{{name: "a", events: a}, {name: "b", events: b}}
}

// write writes a host's trace into a directory.
func (h *host) write(t testing.TB, dir string) string {
	schema := &trace.Schema{Hosts: []string{h.name}, Streams: []trace.Stream{{Name: "program", Host: h.name, Kind: trace.Process, ID: 1, Parent: -1}},
		Classes: []trace.Class{{Name: "tick", Fields: []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int, Bits: 64}}}},
			{Name: "message", Fields: []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int, Bits: 64}}}}}}
	schema.Classes = append(schema.Classes, h.more...)
	if h.second {
		schema.Streams = append(schema.Streams, trace.Stream{Name: "another", Host: h.name, Kind: trace.Process, ID: 2, Parent: -1})
	}
	w, err := ctf.NewWriter(filepath.Join(dir, h.name+".ctf"), schema, ctf.WriterOptions{PacketSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.events {
		if err := w.Write(&h.events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, h.name+".ctf", "*", "metadata"))
	if err != nil || len(found) != 1 {
		t.Fatalf("traces %q, error %v", found, err)
	}
	return filepath.Dir(found[0])
}

// growth copies a finished trace piece by piece.
type growth struct {
	from, to string
	sizes    map[string]int64
	files    map[string][]byte // of from, once they were read
}

func (g *growth) advance(t testing.TB, share float64) {
	if err := os.MkdirAll(g.to, 0o755); err != nil {
		t.Fatal(err)
	}
	if g.files == nil {
		g.files = make(map[string][]byte)
		entries, err := os.ReadDir(g.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if g.files[e.Name()], err = os.ReadFile(filepath.Join(g.from, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.files)) {
		data := g.files[name]
		n := int64(float64(len(data)) * share)
		if name == "metadata" || len(data) <= 4096 && share > 0.4 { // one packet
			n = int64(len(data))
		}
		if g.sizes[name] == n {
			continue
		}
		f, err := os.OpenFile(filepath.Join(g.to, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(data[g.sizes[name]:n]); err != nil {
			t.Fatal(err)
		}
		f.Close()
		g.sizes[name] = n
	}
}

// taken is what a test's sink was given.
type taken struct {
	host         int
	n            int64
	stamp        clock.HostTime
	at, low      clock.TimelineTime
	high         clock.TimelineTime
	bounded      bool
	note         order.Note
	flow         uint64
	role         trace.Role
	component    int
	hasComponent bool
}

type collector struct {
	s     *Session
	taken []taken
}

func (c *collector) Write(e *trace.TimelineEvent, n order.Note) error {
	x := taken{host: e.Host, stamp: e.Event.Time, at: e.Time, low: e.Low, high: e.High, bounded: e.Bounded, note: n, flow: e.Event.Flow, role: e.Role}
	if len(e.Values) > 0 {
		x.n = e.Values[0].Int()
	}
	x.component, x.hasComponent = c.s.Schema().Component(e)
	c.taken = append(c.taken, x)
	return nil
}

func (c *collector) Step(*Session) error { return nil }

// followBeside runs a session over growing copies of traces in virtual time: each step is 20 ms. Rounds are solved beside the steps,
// and applied after as many steps at most; 0 solves them in steps.
func followBeside(t testing.TB, hosts [2]host, seconds int, o Options, most int) (*Session, []taken) {
	s, got, warnings := followWarned(t, hosts, seconds, o, most)
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	return s, got
}

// following is a session over growing copies of traces in virtual time.
type following struct {
	*Session
	t        testing.TB
	now      time.Time
	growths  []*growth // of each host
	sink     *collector
	warnings trace.Warnings
}

// follow begins to follow hosts of which nothing is there yet.
func follow(t testing.TB, hosts []host, o Options) *following {
	dir := t.TempDir()
	f := &following{t: t, now: time.Unix(5, 0)}
	for i := range hosts {
		to := filepath.Join(dir, "live", hosts[i].name)
		f.growths = append(f.growths, &growth{from: hosts[i].write(t, dir), to: to, sizes: map[string]int64{}})
		o.Inputs = append(o.Inputs, Input{Host: hosts[i].name, Dir: to})
	}
	o.Now = func() time.Time { return f.now }
	var err error
	if f.Session, err = New(o, &f.warnings); err != nil {
		t.Fatal(err)
	}
	f.sink = &collector{s: f.Session}
	f.To(f.sink)
	return f
}

// step lets time pass, copies the traces up to a share of them, and reads what there is. A share below 0 copies nothing.
func (f *following) step(passes time.Duration, shares ...float64) {
	f.now = f.now.Add(passes)
	for i, share := range shares {
		if share >= 0 {
			f.growths[i].advance(f.t, share)
		}
	}
	for busy := true; busy; {
		var err error
		if busy, err = f.Step(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

// finish ends the session.
func (f *following) finish() {
	if err := f.Finish(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	if err := f.close(); err != nil {
		f.t.Fatal(err)
	}
}

// followWarned does as followBeside with traces of which there may be something wrong.
func followWarned(t testing.TB, hosts [2]host, seconds int, o Options, most int) (*Session, []taken, []string) {
	f := follow(t, hosts[:], o)
	f.beside = most > 0
	since := 0
	const step = 20 * time.Millisecond
	steps := int(time.Duration(seconds) * time.Second / step)
	for i := range steps {
		share := float64(i+1) / float64(steps)
		f.step(step, share, share)
		if since++; f.solving == nil {
			since = 0
		} else if since >= most {
			<-f.solving.done
		}
	}
	f.finish()
	return f.Session, f.sink.taken, f.warnings.Lines()
}

func TestEventsOfHostsWithWrongClocksComeOnceInOrderWithinTrueBounds(t *testing.T) {
	for _, most := range []int{0, 1, 10} {
		t.Run(fmt.Sprintf("solved within %d steps", most), func(t *testing.T) { checkWrongClocks(t, most) })
	}
}

func checkWrongClocks(t *testing.T, most int) {
	const seconds = 8
	hosts := talk(seconds, 3)
	s, got := followBeside(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, most)
	seen := map[string]int{}
	bounded := 0
	var last clock.TimelineTime
	for _, x := range got {
		seen[fmt.Sprint(x.host, " ", x.n)]++
		if x.at < last && !x.note.Late {
			t.Fatalf("event %d of host %d at %d is behind %d, and not marked late", x.n, x.host, x.at, last)
		}
		last = max(last, x.at)
		if !x.bounded {
			continue
		}
		bounded++
		// Truth is the first host's clock. The timeline follows one of the two: the difference of an event of a and its image is what
		// the maps must contain, so the truth is carried by the clock of whichever is the reference.
		truth := int64(x.stamp)
		if s.Schema().Hosts[x.host] == "b" {
			truth = invertB(int64(x.stamp))
		}
		if reference(got, s) == "b" {
			truth = clockB(truth)
		}
		if int64(x.low) > truth+1 || int64(x.high) < truth-1 {
			t.Fatalf("event %d of host %d: truth %d is outside of %d to %d", x.n, x.host, truth, x.low, x.high)
		}
	}
	for i := range hosts {
		for n := range hosts[i].events {
			if k := seen[fmt.Sprint(hostNumber(s, hosts[i].name), " ", n)]; k != 1 {
				t.Fatalf("event %d of %s came %d times", n, hosts[i].name, k)
			}
		}
	}
	if bounded < len(got)*3/4 {
		t.Errorf("%d of %d events are bounded", bounded, len(got))
	}
	if o := s.Outcome(); len(o.Unaligned) > 0 || o.Late > o.Emitted/100 {
		t.Errorf("outcome %+v", o)
	}
}

// invertB returns when the first clock showed what the second one's stamp says.
func invertB(stamp int64) int64 {
	t := stamp - 3_000_000_000
	for range 4 {
		t = stamp - 3_000_000_000 - (t-origin)/25_000
	}
	return t
}

// reference names the host whose stamps the timeline follows.
func reference(all []taken, s *Session) string {
	for _, x := range all {
		if x.bounded && x.low == x.high && int64(x.at) == int64(x.stamp) {
			return s.Schema().Hosts[x.host]
		}
	}
	return ""
}

func hostNumber(s *Session, name string) int { return slices.Index(s.Schema().Hosts, name) }

func TestOneHostKeepsItsStampsAndIsNotBounded(t *testing.T) {
	hosts := talk(1, 5)
	dir := t.TempDir()
	var w trace.Warnings
	s, err := New(Options{Inputs: []Input{{Dir: hosts[0].write(t, dir)}}}, &w)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{s: s}
	s.To(c)
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.taken) != len(hosts[0].events) {
		t.Fatalf("%d events, not %d", len(c.taken), len(hosts[0].events))
	}
	for i, x := range c.taken {
		if x.stamp != hosts[0].events[i].Event.Time || int64(x.at) != int64(x.stamp) || x.bounded || x.hasComponent {
			t.Fatalf("event %d: %+v", i, x)
		}
	}
}
