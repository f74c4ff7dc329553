package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/format/pcap"
	"meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/record"
	"meridian/internal/record/packet"
	"meridian/trace"
)

// recordTwice records the packets of a host both as events and by a capture.
func recordTwice(t *testing.T, lab *netlab.Lab, host, dir string) (stop func() record.Summary, of *origin) {
	t.Helper()
	early := record.ReadEarly()
	capture, err := packet.Open(packet.Options{NetNS: lab.Namespace(host)})
	if err != nil {
		t.Fatal(err)
	}
	return recordHost(t, lab, host, dir, record.Options{Packets: capture, Early: early}, capture)
}

// alignedHosts returns the report of two hosts.
func alignedHosts(t *testing.T, web, db, output string, origins map[string]*origin) *pipeline.Outcome {
	t.Helper()
	inputs, err := input.Parse([]string{"web=" + web, "db=" + db})
	if err != nil {
		t.Fatal(err)
	}
	out, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{filepath.Join(t.TempDir(), output)}})
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine the kernel drops events, which the recorder counts.
	broken := slices.DeleteFunc(slices.Clone(out.Broken), func(b string) bool { return strings.HasPrefix(b, "the inputs have gaps") })
	if len(broken) > 0 || out.Report.Quality.Inversions != 0 {
		t.Errorf("%s and %s: broken %q, %d inversions", web, db, broken, out.Report.Quality.Inversions)
	}
	holdOrigins(t, out, origins)
	return out
}

func TestPacketsRecordedTwiceAreMatchedOnce(t *testing.T) {
	lab := netlab.TwoHosts(t)
	dir := t.TempDir()
	web, db := filepath.Join(dir, "web"), filepath.Join(dir, "db")
	stopWeb, originWeb := recordTwice(t, lab, "web", web)
	stopDB, originDB := recordTwice(t, lab, "db", db)
	origins := map[string]*origin{"web": originWeb, "db": originDB}
	lab.Run(netlab.Mixed("web", "db"))
	lost := int64(stopWeb().Total.Lost + stopDB().Total.Lost)
	both := alignedHosts(t, web, db, "x.csv", origins).Report.Quality.Messages
	captures := alignedHosts(t, filepath.Join(web, "packets", "web.pcapng"), filepath.Join(db, "packets", "db.pcapng"), "x.pcapng", origins).Report.Quality.Messages
	mixed := alignedHosts(t, web, filepath.Join(db, "packets", "db.pcapng"), "x.pcapng", origins).Report.Quality.Messages
	for _, host := range []string{"web", "db"} {
		orderOfOneHost(t, filepath.Join(dir, host), host, origins[host])
		if err := os.RemoveAll(filepath.Join(dir, host, "packets")); err != nil {
			t.Fatal(err)
		}
	}
	events := alignedHosts(t, web, db, "x.csv", origins).Report.Quality.Messages
	t.Logf("messages: %d by captures, %d by the kernel's events, %d by both", captures, events, both)
	// Beside those of the captures are at most those of what few packets one of the two began or ended with, or lost.
	most := captures + captures/50 + lost
	if captures < 500 || events < 500 || both < captures || both > most || mixed < captures || mixed > most {
		t.Errorf("%d messages by both, %d where one has captures alone, %d by captures, %d by events, %d packets lost", both, mixed, captures, events, lost)
	}
}

// orderOfOneHost holds a host's capture against its kernel's events: on one clock, TCP hands a packet over before the
// device takes it.
func orderOfOneHost(t *testing.T, dir, host string, of *origin) {
	t.Helper()
	trc, err := ctf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	source := trc.Events()
	defer source.Close()
	events, err := kernel.Packets(source, host, dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	capture, err := pcap.Read(context.Background(), filepath.Join(dir, "packets", host+".pcapng"), host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		from, to trace.Endpoint
		seq, ack uint32
		length   uint32
		flags    uint8
	}
	sent := func(c *trace.Capture) map[key][]clock.HostTime {
		found := make(map[key][]clock.HostTime)
		for i := range c.Packets.Len() {
			p := c.Packets.At(i)
			if p.Kind != trace.TCP || p.From != trace.Sent {
				continue
			}
			from, to := c.Flows[p.Flow>>1].Ends(int(p.Flow & 1))
			k := key{from, to, p.Seq, p.Ack, p.Length, p.Flags}
			found[k] = append(found[k], p.Time)
		}
		return found
	}
	queued, left := sent(events), sent(capture)
	n := 0
	reading := clock.HostTime(5000 + of.packets) // by which the difference of REALTIME and MONOTONIC may be known wrongly
	for k, at := range left {
		before := queued[k]
		if len(at) != 1 || len(before) != 1 {
			continue // sent again, or divided in between
		}
		if n++; before[0] > at[0]+reading || at[0] > before[0]+60_000_000_000 {
			t.Fatalf("%s: %+v was handed over at %d and left at %d", host, k, before[0], at[0])
		}
	}
	if n < 100 {
		t.Errorf("%s: only %d packets are known by both", host, n)
	}
}
