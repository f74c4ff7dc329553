//go:build linux

package record

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/record/packet"
	"meridian/trace"
)

// fakeCapture brings so many packets, one a ns, of one interface and then of two.
type fakeCapture struct {
	frames  int
	origin  clock.HostTime
	at      atomic.Int64 // how many it has brought
	dropped atomic.Int64
	err     error
}

func (c *fakeCapture) SetOrigin(ns int64) error {
	c.origin = clock.HostTime(ns)
	return nil
}

func (c *fakeCapture) Interfaces() []packet.Interface {
	all := []packet.Interface{{Interface: trace.Interface{Name: "eth0", LinkType: 1}, Index: 1}, {Interface: trace.Interface{Name: "tun0", LinkType: 101}, Index: 2}}
	if 2*c.at.Load() < int64(c.frames) {
		return all[:1]
	}
	return all
}

const frameSize = 200

func (c *fakeCapture) Read(ctx context.Context, each func(*trace.Frame, trace.Direction) error) error {
	var data [frameSize]byte
	for i := range c.frames {
		c.at.Store(int64(i))
		binary.BigEndian.PutUint64(data[:], uint64(i))
		f := trace.Frame{Number: i, Time: c.origin + clock.HostTime(i), Data: data[:], Wire: 1500}
		if 2*i >= c.frames {
			f.Interface = i % 2
		}
		if err := each(&f, trace.Sent); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return c.err
}

func (c *fakeCapture) Stats() (packet.Stats, error) {
	return packet.Stats{Received: c.at.Load(), Dropped: c.dropped.Load()}, nil
}

// captured returns the stamps of a file's packets, which must come in their order.
func captured(t *testing.T, path string) (stamps []clock.HostTime, warnings []string) {
	t.Helper()
	var w trace.Warnings
	r, err := pcap.Open(path, &w)
	if err != nil {
		t.Fatal(err)
	}
	var f trace.Frame
	for r.Next(&f) == nil {
		if i := int(binary.BigEndian.Uint64(f.Data)); i != len(stamps) || len(f.Data) != frameSize {
			t.Fatalf("%s: packet %d is that of number %d", path, len(stamps), i)
		}
		stamps = append(stamps, f.Time)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return stamps, w.Lines()
}

func TestPacketsStandBesideTheTraceOnItsClock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	const frames = 9000
	var origin clock.HostTime
	ahead := func() clock.HostTime { return clock.HostTime(clock.Realtime.Now() - clock.Monotonic.Now()) }
	before := ahead()
	for run := range 3 {
		c := &fakeCapture{frames: frames}
		c.dropped.Store(int64(run))
		r, err := New(Options{Dir: dir, Host: "web/1", Rings: []string{t.TempDir()}, Packets: c})
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != clock.HostTime(r.Origin()) || run > 0 && c.origin != origin {
			t.Errorf("packets begin at %d, the trace at %d, that of the first recorder at %d", c.origin, r.Origin(), origin)
		}
		origin = c.origin
		if now := ahead(); origin < min(before, now)-1e9 || origin > max(before, now)+1e9 { // it may be set meanwhile
			t.Errorf("the trace begins at %d, REALTIME is %d beyond MONOTONIC", origin, now)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s, err := r.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := []Counts{{Name: "packets eth0", Events: 3 * frames / 4}, {Name: "packets tun0", Events: frames / 4}}
		if run > 0 {
			want = append(want, Counts{Name: "packets of all interfaces", Lost: uint64(run)})
		}
		if len(s.Streams) != len(want) || s.Total.Events != frames || s.Total.Lost != uint64(run) {
			t.Fatalf("%+v", s)
		}
		for i, c := range s.Streams {
			if c.Name != want[i].Name || c.Events != want[i].Events || c.Lost != want[i].Lost || c.Bytes < frameSize*c.Events {
				t.Errorf("%+v, want %+v", c, want[i])
			}
		}
	}
	// Each recorder has a file of its own.
	for _, name := range []string{"web-1.pcapng", "web-1-2.pcapng", "web-1-3.pcapng"} {
		stamps, warnings := captured(t, filepath.Join(dir, packetFiles, name))
		if len(stamps) != frames || stamps[0] != origin || len(warnings) > 0 {
			t.Errorf("%s: %d packets, the first at %d of %d, %q", name, len(stamps), stamps[0], origin, warnings)
		}
	}
	read(t, dir)
	babeltrace(t, dir) // is not disturbed by what lies beside the streams
}

func TestPacketsAreInTheFileWhileTheRecorderRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	const frames = 5
	r, err := New(Options{Dir: dir, Host: "web", Rings: []string{t.TempDir()}, Packets: &fakeCapture{frames: frames}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		done <- err
	}()
	// Who killed the recorder now would leave the file as it is.
	for {
		if stamps, _ := captured(t, filepath.Join(dir, packetFiles, "web.pcapng")); len(stamps) == frames {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("they never come")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// endingCapture ends by itself.
type endingCapture struct{ fakeCapture }

func (c *endingCapture) Read(_ context.Context, each func(*trace.Frame, trace.Direction) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return c.fakeCapture.Read(ctx, each)
}

func TestFullDiskLeavesWholePackets(t *testing.T) {
	disk := smallDisk(t, "3m")
	r, err := New(Options{Dir: filepath.Join(disk, "trace"), Host: "web", Rings: []string{t.TempDir()}, Packets: &fakeCapture{frames: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s, err := r.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || strings.Count(err.Error(), "recording has ended") != 1 {
		t.Fatal(err)
	}
	t.Log(err)
	path := filepath.Join(disk, "trace", packetFiles, "web.pcapng")
	stamps, warnings := captured(t, path)
	info, err := os.Stat(path)
	if err != nil || len(warnings) > 0 || uint64(len(stamps)) != s.Streams[0].Events || info.Size() < 1<<20 {
		t.Errorf("%d packets in %d bytes, %d counted, %q %v", len(stamps), info.Size(), s.Streams[0].Events, warnings, err)
	}
}

// renewedCapture has two interfaces of one name, one after the other.
type renewedCapture struct{ fakeCapture }

func (c *renewedCapture) Interfaces() []packet.Interface {
	all := c.fakeCapture.Interfaces()
	for i := range all {
		all[i].Name, all[i].LinkType = "eth0", 1
	}
	return all
}

func (c *renewedCapture) Stats() (packet.Stats, error) {
	return packet.Stats{Received: c.at.Load(), Reappeared: "eth0", Removed: "tun0", Unwatched: "no netlink"}, nil
}

func TestInterfacesOfOneNameAreCountedTogether(t *testing.T) {
	var w trace.Warnings
	r, err := New(Options{Dir: filepath.Join(t.TempDir(), "trace"), Host: "web", Rings: []string{t.TempDir()}, Packets: &renewedCapture{fakeCapture{frames: 100}}, Warnings: &w})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := r.Run(ctx)
	if err != nil || len(s.Streams) != 1 || s.Streams[0].Events != 100 || s.Streams[0].Interface != "eth0" || s.Streams[0].Bytes < 100*frameSize {
		t.Errorf("%+v, %v", s, err)
	}
	said := strings.Join(w.Lines(), "\n")
	for _, want := range []string{"interfaces were removed (tun0)", "reappeared; their first packets may be missing (eth0)", "could not be read (no netlink)"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in %q", want, said)
		}
	}
}
