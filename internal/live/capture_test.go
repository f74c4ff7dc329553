package live

import (
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/show/view"
	"meridian/order"
	"meridian/trace"
)

const rawIP = 101 // LINKTYPE_RAW

// captured writes the packets of two hosts, as exchange makes them, into captures, of which stamps are cut to a step.
func captured(t *testing.T, dir string, seconds int, step int64) (files [2]string, all []carried) {
	t.Helper()
	names := [2]string{"a", "b"}
	var writers [2]*pcap.Writer
	for i, name := range names {
		files[i] = filepath.Join(dir, "whole", name)
		if err := os.MkdirAll(files[i], 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(files[i], name+".pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if writers[i], err = pcap.NewWriter(f, []pcap.WriterInterface{{LinkType: rawIP}}, ""); err != nil {
			t.Fatal(err)
		}
		defer writers[i].Flush()
	}
	write := func(i int, at int64, data []byte, direction byte) clock.HostTime {
		if i == 1 {
			at = clockB(at)
		}
		at -= at % step
		if err := writers[i].Write(0, &trace.Frame{Time: clock.HostTime(at), Wire: uint32(len(data)), Data: data, Options: []byte{2, 0, 4, 0, direction, 0, 0, 0}}); err != nil {
			t.Fatal(err)
		}
		return clock.HostTime(at)
	}
	seq := [2]uint32{1000, 5000}
	for at := int64(origin); at < origin+int64(seconds)*1e9; at += 20_000_000 {
		for from := range names {
			data := segment(t, from, seq[from], seq[1-from])
			seq[from] += 100
			sent := at + int64(from)*5_000_000 + at/1000%977_777
			m := carried{from: names[from], to: names[1-from], sent: write(from, sent, data, 2)}
			m.received = write(1-from, sent+150_000+at/7%50_000, data, 1)
			all = append(all, m)
		}
	}
	slices.SortFunc(all, compareCarried)
	return files, all
}

// packetEvents counts the events of packets by host and number, beside the ends of messages.
type packetEvents struct {
	endSink
	seen map[[2]uint64]int
}

func (x *packetEvents) Write(e *trace.TimelineEvent, n order.Note) error {
	if x.s.Schema().Streams[e.Stream].Kind == trace.Device {
		x.seen[[2]uint64{uint64(e.Host), e.Values[9].Uint()}]++
	}
	return x.endSink.Write(e, n)
}

func TestCapturesThatGrowAreEventsAndMessages(t *testing.T) {
	const seconds = 5
	for _, step := range []int64{1, 1000} {
		dir := t.TempDir()
		files, sent := captured(t, dir, seconds, step)
		all, in := growing(t, files)
		for i := range in {
			in[i].Dir = filepath.Join(in[i].Dir, in[i].Host+".pcapng")
		}
		now := time.Unix(5, 0)
		var w trace.Warnings
		stated := map[string][]netip.Addr{"a": {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.3")}}
		s, err := New(Options{Inputs: in, Rows: true, Messages: true, Addresses: stated, Now: func() time.Time { return now }}, &w)
		if err != nil {
			t.Fatal(err)
		}
		x := &packetEvents{endSink: endSink{s: s, ends: make(map[uint64][]shownEnd)}, seen: make(map[[2]uint64]int)}
		s.To(x)
		growTo(t, s, &now, all, seconds, 0, 1)
		if err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := messagesOf(t, s, &x.endSink); !slices.Equal(got, sent) {
			t.Errorf("step %d: %d messages, and they are not the %d that were sent", step, len(got), len(sent))
		}
		if len(x.seen) != 2*len(sent) {
			t.Errorf("step %d: %d events of packets; there are %d", step, len(x.seen), 2*len(sent))
		}
		for k, n := range x.seen {
			if n != 1 {
				t.Fatalf("step %d: packet %d of host %d came %d times", step, k[1], k[0], n)
			}
		}
		bounded := 0
		for _, ends := range x.ends {
			for i := range ends {
				e := &ends[i]
				if !e.Bounded {
					continue
				}
				bounded++
				// The timeline is a's: of an end at b, the truth is when the host was at its stamp, or less than a step later.
				first, last := int64(e.Event.Time), int64(e.Event.Time)+step-1
				if s.Schema().Hosts[e.Host] == "b" {
					first, last = invertB(first), invertB(last)
				}
				if int64(e.Low) > first+1 || int64(e.High) < last-1 {
					t.Fatalf("step %d: %d to %d is beyond the bounds %d to %d", step, first, last, e.Low, e.High)
				}
			}
		}
		if bounded < len(sent) {
			t.Errorf("step %d: %d of %d ends are bounded", step, bounded, 2*len(sent))
		}
		s.Outcome()
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], "a: no packet of the captures has its address 10.0.0.3") {
			t.Errorf("step %d: warnings %q, and they should name the address that no packet has, alone", step, lines)
		}
	}
}

func TestHalfAPacketAtTheEndIsToldAsOfflineTellsIt(t *testing.T) {
	dir := t.TempDir()
	files, _ := captured(t, dir, 1, 1)
	path := filepath.Join(files[0], "a.pcapng")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-10); err != nil {
		t.Fatal(err)
	}
	var live, offline trace.Warnings
	s, err := New(Options{Inputs: []Input{{Host: "a", Dir: path}}}, &live)
	if err != nil {
		t.Fatal(err)
	}
	s.To(&collector{s: s})
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := pcap.Read(t.Context(), path, "a", &offline, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(live.Lines(), "\n"), strings.Join(offline.Lines(), "\n"); got != want || want == "" {
		t.Errorf("live %q, offline %q", got, want)
	}
}

func TestTracesThatComeIntoADirectoryAreFollowed(t *testing.T) {
	hosts := talk(4, 3)
	dir := t.TempDir()
	into := filepath.Join(dir, "live")
	now := time.Unix(5, 0)
	var w trace.Warnings
	s, err := New(Options{Inputs: []Input{{Host: "live", Dir: into, Derived: true}}, Now: func() time.Time { return now }}, &w)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{s: s}
	s.To(c)
	var all []*growth
	for i := range hosts {
		all = append(all, &growth{from: hosts[i].write(t, dir), to: filepath.Join(into, hosts[i].name), sizes: map[string]int64{}})
	}
	growTo(t, s, &now, all[:0], 1, 0, 0)
	growTo(t, s, &now, all[:1], 2, 0, 0.5)
	growTo(t, s, &now, all, 2, 0.5, 1)
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, x := range c.taken {
		count[s.Schema().Hosts[x.host]]++
	}
	if count["a"] != len(hosts[0].events) || count["b"] != len(hosts[1].events) || len(count) != 2 {
		t.Errorf("events %v; there are %d and %d", count, len(hosts[0].events), len(hosts[1].events))
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// TestTraceThatIsMovedIsReadOnce moves a trace within the directory that is followed, as a rotation of LTTng does, and writes it to its end
// there.
func TestTraceThatIsMovedIsReadOnce(t *testing.T) {
	t.Parallel()
	hosts := talk(3, 3)
	for _, behind := range []float64{0.5, 0.8, 1, -0.5} { // what is written at the move, though the follower has not looked
		soon := behind < 0 // moved as soon as it was found
		behind = math.Abs(behind)
		dir := t.TempDir()
		into := filepath.Join(dir, "session")
		now := time.Unix(5, 0)
		var w trace.Warnings
		s, err := New(Options{Inputs: []Input{{Host: "session", Dir: into, Derived: true}}, Align: cheap, Now: func() time.Time { return now }}, &w)
		if err != nil {
			t.Fatal(err)
		}
		c := &collector{s: s}
		s.To(c)
		var all []*growth
		for i := range hosts {
			all = append(all, &growth{from: hosts[i].write(t, dir), to: filepath.Join(into, "ust", hosts[i].name), sizes: map[string]int64{}})
		}
		if soon {
			growTo(t, s, &now, nil, 1, 0, 0) // the next look for traces is the one that finds them
			for _, g := range all {
				g.advance(t, 0.5)
			}
			now = now.Add(time.Second)
			if _, err := s.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			growTo(t, s, &now, all, 2, 0, 0.5)
		}
		for _, g := range all {
			g.advance(t, behind)
			g.to = filepath.Join(into, "archives", "0", filepath.Base(g.to))
		}
		if err := os.MkdirAll(filepath.Join(into, "archives"), 0o755); err != nil {
			t.Fatal(err)
		}
		elsewhere := filepath.Join(dir, "elsewhere") // a walk through the session may miss what is being moved
		for _, move := range [][2]string{{filepath.Join(into, "ust"), elsewhere}, {elsewhere, filepath.Join(into, "archives", "0")}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Fatal(err)
			}
			growTo(t, s, &now, nil, 2, 0, 0)
		}
		growTo(t, s, &now, all, 2, behind, 1)
		if err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		for _, x := range c.taken {
			count[s.Schema().Hosts[x.host]]++
		}
		if count["a"] != len(hosts[0].events) || count["b"] != len(hosts[1].events) || len(count) != 2 {
			t.Errorf("events %v; there are %d and %d", count, len(hosts[0].events), len(hosts[1].events))
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageOfCapturesThatGrowShowsAllOnceAcrossRestarts(t *testing.T) {
	const seconds = 6
	files, sent := captured(t, t.TempDir(), seconds, 1)
	all, in := growing(t, files)
	for i := range in {
		in[i].Dir = filepath.Join(in[i].Dir, in[i].Host+".pcapng")
	}
	now := time.Unix(5, 0)
	var w trace.Warnings
	open := func() *Viewer {
		x, err := OpenViewer(Options{Inputs: in, Now: func() time.Time { return now }}, ViewOptions{Index: filepath.Join(filepath.Dir(filepath.Dir(in[0].Dir)), "index")}, new(view.Live), &w)
		if err != nil {
			t.Fatal(err)
		}
		x.s.To(stepless{x.p, new(endTimes)})
		return x
	}
	x := open()
	for i, until := range []float64{0.3, 0.6} {
		growTo(t, x.s, &now, all, seconds/3, float64(i)*0.3, until)
		if err := x.p.sealAll(x.s); err != nil {
			t.Fatal(err)
		}
		if err := x.p.index.Close(); err != nil {
			t.Fatal(err)
		}
		x = open()
	}
	growTo(t, x.s, &now, all, seconds/3, 0.6, 1)
	if err := x.s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := x.p.index.View()
	defer v.Close()
	a := v.About()
	if packets := a.Events - 2*a.Messages; a.Messages != int64(len(sent)) || packets != int64(2*len(sent)) {
		t.Errorf("%d messages and %d packets; there are %d and %d", a.Messages, packets, len(sent), 2*len(sent))
	}
}

func TestPacketsOfATraceThatComesLaterAreAllNew(t *testing.T) {
	dir := t.TempDir()
	files, _ := captured(t, dir, 1, 1)
	hosts := talk(1, 3)
	at := filepath.Join(dir, "live")
	whole := &growth{from: hosts[0].write(t, dir), to: at, sizes: map[string]int64{}}
	beside := &growth{from: files[0], to: filepath.Join(at, packetFiles), sizes: map[string]int64{}}
	now := time.Unix(5, 0)
	var w trace.Warnings
	s, err := New(Options{Inputs: []Input{{Host: "a", Dir: at}}, FromEnd: true, Now: func() time.Time { return now }}, &w)
	if err != nil {
		t.Fatal(err)
	}
	x := &packetEvents{endSink: endSink{s: s, ends: make(map[uint64][]shownEnd)}, seen: make(map[[2]uint64]int)}
	s.To(x)
	growTo(t, s, &now, nil, 1, 0, 0)
	growTo(t, s, &now, []*growth{whole, beside}, 2, 0.9, 1)
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(x.seen) != 100 {
		t.Errorf("%d of 100 packets", len(x.seen))
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNoDirectoryIsFollowedAsACapture makes a file that is no capture: the reason given is that of a capture, whether or not anything is in
// the file when it is first looked at.
func TestWhatIsNoDirectoryIsFollowedAsACapture(t *testing.T) {
	gzip := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03 and more")
	for _, before := range []int{0, 10, len(gzip)} {
		path := filepath.Join(t.TempDir(), "stdin.pcap")
		if err := os.WriteFile(path, gzip[:before], 0o600); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		in := newInput(&Session{warnings: &w}, Input{Host: "stdin", Dir: path})
		if err := os.WriteFile(path, gzip, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := in.follower.Refresh(); err == nil || !strings.HasSuffix(err.Error(), "only a plain capture can be followed") {
			t.Errorf("%d bytes at first: %v", before, err)
		}
	}
}
