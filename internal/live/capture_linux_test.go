package live

import (
	"context"
	"path/filepath"
	"testing"

	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/internal/record"
	"meridian/internal/record/packet"
	"meridian/match"
	"meridian/trace"
)

// TestRecordedPacketsThatGrowAreTheMessagesThatOfflineFinds records the packets of two network namespaces, and follows the traces meanwhile.
func TestRecordedPacketsThatGrowAreTheMessagesThatOfflineFinds(t *testing.T) {
	lab := netlab.TwoHosts(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	origins := make(map[string]int64) // between the hosts' clocks and the one that both have
	var stops []func()
	dropped := int64(0) // by the kernel, for a recorder that did not come in time
	var in []Input
	for _, host := range []string{"web", "db"} {
		early := record.ReadEarly()
		capture, err := packet.Open(packet.Options{NetNS: lab.Namespace(host)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := record.New(record.Options{Dir: filepath.Join(dir, host), Host: host, Rings: []string{t.TempDir()}, Packets: capture, Early: early})
		if err != nil {
			t.Fatal(err)
		}
		origins[host] = r.Origin()
		done := make(chan error, 1)
		recording, stop := context.WithCancel(ctx)
		go func() {
			_, err := r.Run(recording)
			done <- err
		}()
		stops = append(stops, func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			stats, err := capture.Stats()
			if err != nil {
				t.Error(err)
			}
			dropped += stats.Dropped
			if err := capture.Close(); err != nil {
				t.Error(err)
			}
		})
		in = append(in, Input{Host: host, Dir: filepath.Join(dir, host)})
	}
	var w trace.Warnings
	s, err := New(Options{Inputs: in, Rows: true, Messages: true}, &w)
	if err != nil {
		t.Fatal(err)
	}
	x := &packetEvents{endSink: endSink{s: s, ends: make(map[uint64][]shownEnd)}, seen: make(map[[2]uint64]int)}
	s.To(x)
	following, end := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- s.Run(following) }()
	lab.Run(netlab.Mixed("web", "db"))
	for _, stop := range stops {
		stop()
	}
	end()
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	var captures []*trace.Capture
	packets := 0
	for _, host := range []string{"web", "db"} {
		c, err := pcap.Read(t.Context(), filepath.Join(dir, host, packetFiles, host+".pcapng"), host, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		captures, packets = append(captures, c), packets+c.Packets.Len()
	}
	found, err := match.Match(t.Context(), captures, match.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	offline := make(map[carried]int)
	n := 0
	for _, c := range found.Channels {
		for _, m := range c.Messages {
			offline[carried{found.Clocks[c.From].Name, found.Clocks[c.To].Name, m.Sent, m.Received}]++
			n++
		}
	}
	common, got := 0, messagesOf(t, s, &x.endSink)
	for _, m := range got {
		if offline[m] > 0 {
			offline[m]--
			common++
		} else {
			t.Logf("live only: %v", m)
		}
	}
	for m, left := range offline {
		if left > 0 {
			t.Logf("offline only: %v", m)
		}
	}
	withdrawn := int(s.packets.withdrawn) // in a few of a hundred runs a packet comes again after its first was used
	bounded := 0
	for _, ends := range x.ends {
		if ends[0].Bounded && ends[1].Bounded {
			bounded++
		}
		for _, e := range ends {
			if name := s.Schema().Hosts[e.Host]; e.Bounded {
				of := int64(e.Event.Time) - origins[name]
				in := func(reference string) bool {
					truth := of + origins[reference]
					return int64(e.Low) <= truth+1 && int64(e.High) >= truth-1
				}
				if !in("web") && !in("db") {
					t.Fatalf("%s: the stamp %d is outside of %d to %d", name, e.Event.Time, e.Low, e.High)
				}
			}
		}
	}
	t.Logf("%d messages live, %d offline, %d in common; %d packets, %d offline; %d bounded", len(got), n, common, len(x.seen), packets, bounded)
	if n < 500 || len(x.seen) != packets || common != n || len(got) != n+withdrawn || bounded < n/2 {
		t.Errorf("%d messages live, %d offline, %d in common; %d packets, %d offline; %d bounded", len(got), n, common, len(x.seen), packets, bounded)
	}
	if lines := w.Lines(); len(lines) > 0 && dropped == 0 && (withdrawn == 0 || len(lines) > 1) {
		t.Errorf("warnings %q", lines)
	}
}

func TestMain(m *testing.M) { netlab.Main(m) }
