//go:build linux

package packet

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/netlab"
	"meridian/trace"
)

// ip changes the interfaces of a host.
func ip(t *testing.T, lab *netlab.Lab, host string, args ...string) {
	t.Helper()
	if out, err := lab.Command(host, "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %q: %s", args, out)
	}
}

// await waits until a capture has heard of what another process did.
func await(t *testing.T, r *running, what string, is func(Stats) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stats, err := r.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if is(stats) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v", what, stats)
		}
	}
}

// anew makes eth0 of web anew.
func anew(t *testing.T, lab *netlab.Lab) {
	t.Helper()
	for _, args := range [][]string{{"link", "add", "eth0", "type", "veth", "peer", "name", "peer0"}, {"link", "set", "peer0", "up"}, {"link", "set", "eth0", "up"}} {
		ip(t, lab, "web", args...)
	}
}

func TestAnInterfaceThatComesAgainUnderItsNameIsCapturedAgain(t *testing.T) {
	t.Parallel()
	const origin = 1_000_000_000_000_000_000
	for _, names := range [][]string{{"eth0"}, {"lo", "eth0"}, {"lo"}, nil} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			t.Parallel()
			lab := pair(t)
			web := namespace(lab, "web")
			named, wanted := len(names) > 0, len(names) != 1 || names[0] == "eth0"
			r := start(t, Options{NetNS: web, Interfaces: names, Filter: "udp port 4242", Origin: origin})
			if stats, err := r.Stats(); err != nil || stats.Gone+stats.Again+stats.Deaf != "" {
				t.Errorf("%+v, %v", stats, err)
			}
			const lives = 3
			var before []int64
			var datagrams [lives + 1][]byte
			for life := range datagrams {
				datagrams[life] = ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30+life)))
			}
			for life := range lives {
				if life > 0 {
					ip(t, lab, "web", "link", "del", "eth0")
					if named && wanted {
						await(t, r, "nobody hears that it is gone", func(s Stats) bool { return s.Gone == "eth0" })
					}
					anew(t, lab)
					if named && wanted {
						await(t, r, "nobody hears that it is there again", func(s Stats) bool { return s.Gone == "" && s.Again == "eth0" })
					}
				}
				before = append(before, int64(clock.Monotonic.Now()))
				inject(t, web, "eth0", [][]byte{datagrams[life]})
			}
			if named { // of others nothing is captured, as ever
				inject(t, web, "peer0", [][]byte{datagrams[lives]})
			}
			frames := r.stop()
			end := int64(clock.Monotonic.Now())
			if !wanted {
				if len(frames) > 0 || r.last.Gone+r.last.Again != "" {
					t.Errorf("%d frames of an interface that nobody named, %+v", len(frames), r.last)
				}
				return
			}
			// Sent by eth0, received by its peer.
			sent := frames[:0:0]
			for _, f := range frames {
				if r.Interfaces()[f.Interface].Name == "eth0" && f.direction == trace.Sent {
					sent = append(sent, f)
				} else if named && r.Interfaces()[f.Interface].Name != "eth0" {
					t.Errorf("a frame of %s", r.Interfaces()[f.Interface].Name)
				}
			}
			if len(sent) != lives {
				t.Fatalf("%d frames, of each of %d lives one", len(sent), lives)
			}
			indices := map[int]bool{}
			for i, f := range sent {
				indices[r.Interfaces()[f.Interface].Index] = true
				if !bytes.Equal(f.Data, datagrams[i]) {
					t.Errorf("frame %d: % x", i, f.Data)
				}
				const reading = 2000 // ns by which the clocks' difference may be wrong
				if at := f.Time - origin; at < before[i]-reading || at > end+reading || i+1 < lives && at > before[i+1]+reading {
					t.Errorf("frame %d is of %d, sent after %d", i, at, before[i])
				}
			}
			if len(indices) != lives {
				t.Errorf("%d interfaces, each life is another one", len(indices))
			}
			if want := (Stats{Received: r.last.Received}); named {
				want.Again = "eth0"
				if r.last != want {
					t.Errorf("%+v, want %+v", r.last, want)
				}
			} else if r.last != want {
				t.Errorf("%+v, want %+v", r.last, want)
			}
		})
	}
}

func TestAnInterfaceThatIsRemovedForGoodIsTold(t *testing.T) {
	t.Parallel()
	lab := pair(t)
	var all []*running
	for _, names := range [][]string{{"eth0"}, {"lo", "eth0", "eth0"}, {"lo"}, nil} {
		all = append(all, start(t, Options{NetNS: namespace(lab, "web"), Interfaces: names}))
	}
	ip(t, lab, "web", "link", "del", "eth0")
	for i, want := range []string{"eth0", "eth0", "", ""} {
		all[i].stop()
		if got := all[i].last; got.Gone != want || got.Again != "" {
			t.Errorf("capture %d: %+v, want %q gone", i, got, want)
		}
	}
}

// Containers get their interfaces so: made elsewhere under another name.
func TestAnInterfaceThatGetsTheNameIsCapturedFromThenOn(t *testing.T) {
	t.Parallel()
	lab := pair(t)
	web := namespace(lab, "web")
	r := start(t, Options{NetNS: web, Interfaces: []string{"eth0"}, Filter: "udp port 4242"})
	frame := ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30)))
	for _, args := range [][]string{{"link", "del", "eth0"}, {"link", "add", "made0", "type", "veth", "peer", "name", "peer0"}, {"link", "set", "peer0", "up"}, {"link", "set", "made0", "up"}} {
		ip(t, lab, "web", args...)
	}
	await(t, r, "it is not gone", func(s Stats) bool { return s.Gone == "eth0" })
	inject(t, web, "made0", [][]byte{frame}) // is nobody's
	ip(t, lab, "web", "link", "set", "made0", "down")
	ip(t, lab, "web", "link", "set", "made0", "name", "eth0")
	ip(t, lab, "web", "link", "set", "eth0", "up")
	await(t, r, "it is not there again", func(s Stats) bool { return s.Again == "eth0" })
	inject(t, web, "eth0", [][]byte{frame})
	// One that gets another name stays.
	ip(t, lab, "web", "link", "set", "eth0", "down")
	ip(t, lab, "web", "link", "set", "eth0", "name", "old0")
	ip(t, lab, "web", "link", "set", "old0", "up")
	inject(t, web, "old0", [][]byte{frame})
	if frames := r.stop(); len(frames) != 2 || r.last.Gone != "" {
		t.Errorf("%d frames of 2, %+v", len(frames), r.last)
	}
}
