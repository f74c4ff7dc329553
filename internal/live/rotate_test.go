package live

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/show/view"
	"meridian/order"
	"meridian/trace"
)

// packetCount counts the events of packets beside the ends of messages.
type packetCount struct {
	*endSink
	packets int
}

func (x *packetCount) Write(e *trace.TimelineEvent, n order.Note) error {
	if x.s.Schema().Streams[e.Stream].Kind == trace.Device {
		x.packets++
	}
	return x.endSink.Write(e, n)
}

// rotation puts the next capture of a host in the place of the one before. It gets the part's number from 1 on, and returns the file to go on with.
type rotation func(t *testing.T, path string, part int) string

// rotations are what tools do.
var rotations = map[string]rotation{
	"renamed": func(t *testing.T, path string, part int) string { // logrotate
		for n := part; n > 0; n-- { // .1 becomes .2
			from := path
			if n > 1 {
				from = path + "." + string(rune('0'+n-1))
			}
			if err := os.Rename(from, path+"."+string(rune('0'+n))); err != nil {
				t.Fatal(err)
			}
		}
		return path
	},
	"written anew": func(t *testing.T, path string, _ int) string { // tcpdump -C -W 1
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		return path
	},
	"copied and written anew": func(t *testing.T, path string, part int) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"."+string(rune('0'+part)), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		return path
	},
	"numbered": func(_ *testing.T, path string, part int) string { // tcpdump -C, record --keep
		return filepath.Join(filepath.Dir(path), "part"+string(rune('0'+part))+".pcapng")
	},
}

func TestCaptureThatIsRotatedIsReadOnce(t *testing.T) {
	t.Parallel()
	for name, rotate := range rotations {
		for _, beside := range []bool{false, true} {
			if name == "numbered" && !beside {
				continue // each file would be an argument
			}
			w := &wire{t: t, flags: true}
			seq := [2]uint32{1000, 5000}
			for i := range 600 {
				from := i & 1
				w.send(from, time.Duration(i)*20*time.Millisecond, 150*time.Microsecond, segment(t, from, seq[from], seq[1-from]))
				seq[from] += 100
			}
			dir := t.TempDir()
			in := w.encode(dir)
			b := &w.hosts[1]
			if beside {
				hosts := talk(1, 3)
				parent := hosts[1].write(t, t.TempDir())
				if err := os.MkdirAll(filepath.Join(dir, "b", packetFiles), 0o755); err != nil {
					t.Fatal(err)
				}
				whole := &growth{from: parent, to: filepath.Join(dir, "b"), sizes: map[string]int64{}}
				whole.advance(t, 1)
				b.file = filepath.Join(dir, "b", packetFiles, "live.pcapng")
				in[1].Dir = filepath.Join(dir, "b")
			}
			x := w.open(in)
			count := &packetCount{endSink: x.x}
			x.To(count)
			w.run(x, 0, 3*time.Second, nil)
			for part := 1; part <= 3; part++ {
				b.file = rotate(t, b.file, part)
				w.appendTo(b.file, b.bytes[:b.header()])
				w.run(x, time.Duration(part)*3*time.Second, time.Duration(part+1)*3*time.Second, nil)
			}
			w.run(x, 12*time.Second, 16*time.Second, nil)
			got := w.finish(x)
			what := name
			if beside {
				what += ", beside a trace"
			}
			w.same(what, got, w.sent)
			if count.packets != 2*len(w.sent) {
				t.Errorf("%s: %d packets are shown, there were %d", what, count.packets, 2*len(w.sent))
			}
		}
	}
}

// TestRotatedCaptureIsShownOnceAfterARestart kills a view behind a rotation: what was read has another name then.
func TestRotatedCaptureIsShownOnceAfterARestart(t *testing.T) {
	w := &wire{t: t, flags: true}
	seq := [2]uint32{1000, 5000}
	for i := range 400 {
		from := i & 1
		w.send(from, time.Duration(i)*20*time.Millisecond, 150*time.Microsecond, segment(t, from, seq[from], seq[1-from]))
		seq[from] += 100
	}
	dir := t.TempDir()
	in := w.encode(dir)
	for i := range in { // each in a directory of a trace
		h := &w.hosts[i]
		in[i].Dir = filepath.Join(dir, in[i].Host)
		if err := os.MkdirAll(filepath.Join(in[i].Dir, packetFiles), 0o755); err != nil {
			t.Fatal(err)
		}
		hosts := talk(1, 3)
		hosts[i].events = hosts[i].events[:1]
		whole := &growth{from: hosts[i].write(t, t.TempDir()), to: in[i].Dir, sizes: map[string]int64{}}
		whole.advance(t, 1)
		h.file = filepath.Join(in[i].Dir, packetFiles, "live.pcapng")
	}
	now := time.Unix(5, 0)
	var warnings trace.Warnings
	open := func() *Viewer {
		x, err := OpenViewer(Options{Inputs: in, Align: cheap, Now: func() time.Time { return now }}, ViewOptions{Index: filepath.Join(dir, "index")}, new(view.Live), &warnings)
		if err != nil {
			t.Fatal(err)
		}
		x.s.To(stepless{x.p, new(endTimes)})
		return x
	}
	run := func(x *Viewer, from, to time.Duration) {
		for at := from; at < to; at += 50 * time.Millisecond {
			now = now.Add(50 * time.Millisecond)
			for i := range w.hosts {
				w.grow(i, at)
			}
			w.steps(&wireSession{Session: x.s})
		}
	}
	x := open()
	run(x, 0, 4*time.Second)
	b := &w.hosts[1]
	b.file = rotations["renamed"](t, b.file, 1)
	w.appendTo(b.file, b.bytes[:b.header()])
	run(x, 4*time.Second, 6*time.Second)
	if err := x.p.sealAll(x.s); err != nil {
		t.Fatal(err)
	}
	if err := x.p.index.Close(); err != nil {
		t.Fatal(err)
	}
	x = open()
	run(x, 6*time.Second, 10*time.Second)
	if err := x.s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := x.p.index.View()
	defer v.Close()
	a := v.About()
	const ticks = 2 // one event of each trace
	if packets := a.Events - 2*a.Messages - ticks; a.Messages != int64(len(w.sent)) || packets != int64(2*len(w.sent)) {
		t.Errorf("%d messages and %d packets; there are %d and %d", a.Messages, packets, len(w.sent), 2*len(w.sent))
	}
}
