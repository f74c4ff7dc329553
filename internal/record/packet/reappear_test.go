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

// await waits until a capture has noticed what another process did.
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

func TestAnInterfaceThatReappearsIsCaptured(t *testing.T) {
	t.Parallel()
	const origin = 1_000_000_000_000_000_000
	for _, names := range [][]string{{"eth0"}, {"lo", "eth0"}, {"lo"}, nil} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			t.Parallel()
			lab := netlab.TwoHosts(t)
			web := namespace(lab, "web")
			named, wanted := len(names) > 0, len(names) != 1 || names[0] == "eth0"
			r := start(t, Options{NetNS: web, Interfaces: names, Filter: "udp port 4242", Origin: origin})
			if stats, err := r.Stats(); err != nil || stats.Removed+stats.Reappeared+stats.Unwatched != "" {
				t.Errorf("%+v, %v", stats, err)
			}
			const lives = 3
			var before []clock.HostTime
			var datagrams [lives + 1][]byte
			for life := range datagrams {
				datagrams[life] = ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30+life)))
			}
			for life := range lives {
				if life > 0 {
					ip(t, lab, "web", "link", "del", "eth0")
					if named && wanted {
						await(t, r, "its removal is not announced", func(s Stats) bool { return s.Removed == "eth0" })
					}
					anew(t, lab)
					if named && wanted {
						await(t, r, "its reappearance is not announced", func(s Stats) bool { return s.Removed == "" && s.Reappeared == "eth0" })
					}
				}
				before = append(before, clock.HostTime(clock.Monotonic.Now()))
				inject(t, web, "eth0", [][]byte{datagrams[life]})
			}
			if named { // other interfaces are not captured
				inject(t, web, "peer0", [][]byte{datagrams[lives]})
			}
			frames := r.stop()
			end := clock.HostTime(clock.Monotonic.Now())
			if !wanted {
				if len(frames) > 0 || r.last.Removed+r.last.Reappeared != "" {
					t.Errorf("%d frames of an interface that was not named, %+v", len(frames), r.last)
				}
				return
			}
			if e := r.last.ClockError; e <= 0 || e > 1e6 {
				t.Errorf("the clocks are known to %d ns", e)
			}
			want := Stats{Received: r.last.Received, ClockError: r.last.ClockError}
			if named {
				want.Reappeared = "eth0"
			}
			if r.last != want {
				t.Errorf("%+v, want %+v", r.last, want)
			}
			sent := sentByEth0(t, r, frames, named)
			if len(sent) != lives {
				t.Fatalf("%d frames, of each of %d lives one", len(sent), lives)
			}
			for i, f := range sent {
				if !bytes.Equal(f.Data, datagrams[i]) {
					t.Errorf("frame %d: % x", i, f.Data)
				}
				reading := clock.HostTime(r.last.ClockError) // by which the clocks' difference may be wrong
				if at := f.Time - origin; at < before[i]-reading || at > end+reading || i+1 < lives && at > before[i+1]+reading {
					t.Errorf("frame %d is of %d, sent after %d", i, at, before[i])
				}
			}
		})
	}
}

// sentByEth0 returns the frames that eth0 sent and its peer received, each by another interface of that name. Where
// interfaces are named there must be no others.
func sentByEth0(t *testing.T, r *running, frames []kept, named bool) (sent []kept) {
	t.Helper()
	indices := map[int]bool{}
	for _, f := range frames {
		i := r.Interfaces()[f.Interface]
		if i.Name == "eth0" && f.direction == trace.Sent {
			sent = append(sent, f)
			indices[i.Index] = true
		} else if named && i.Name != "eth0" {
			t.Errorf("a frame of %s", i.Name)
		}
	}
	if len(indices) != len(sent) {
		t.Errorf("%d frames of %d interfaces", len(sent), len(indices))
	}
	return sent
}

func TestAnInterfaceThatIsRemovedForGoodIsTold(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	var all []*running
	for _, names := range [][]string{{"eth0"}, {"lo", "eth0", "eth0"}, {"lo"}, nil} {
		all = append(all, start(t, Options{NetNS: namespace(lab, "web"), Interfaces: names}))
	}
	ip(t, lab, "web", "link", "del", "eth0")
	for i, want := range []string{"eth0", "eth0", "", ""} {
		all[i].stop()
		if got := all[i].last; got.Removed != want || got.Reappeared != "" {
			t.Errorf("capture %d: %+v, want %q gone", i, got, want)
		}
	}
}

// Containers get their interfaces so: made elsewhere under another name.
func TestAnInterfaceThatGetsTheNameIsCapturedFromThenOn(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	web := namespace(lab, "web")
	r := start(t, Options{NetNS: web, Interfaces: []string{"eth0"}, Filter: "udp port 4242"})
	frame := ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30)))
	for _, args := range [][]string{{"link", "del", "eth0"}, {"link", "add", "made0", "type", "veth", "peer", "name", "peer0"}, {"link", "set", "peer0", "up"}, {"link", "set", "made0", "up"}} {
		ip(t, lab, "web", args...)
	}
	await(t, r, "it is not removed", func(s Stats) bool { return s.Removed == "eth0" })
	inject(t, web, "made0", [][]byte{frame}) // not selected
	ip(t, lab, "web", "link", "set", "made0", "down")
	ip(t, lab, "web", "link", "set", "made0", "name", "eth0")
	ip(t, lab, "web", "link", "set", "eth0", "up")
	await(t, r, "it has not reappeared", func(s Stats) bool { return s.Reappeared == "eth0" })
	inject(t, web, "eth0", [][]byte{frame})
	// One that gets another name stays.
	ip(t, lab, "web", "link", "set", "eth0", "down")
	ip(t, lab, "web", "link", "set", "eth0", "name", "old0")
	ip(t, lab, "web", "link", "set", "old0", "up")
	inject(t, web, "old0", [][]byte{frame})
	if frames := r.stop(); len(frames) != 2 || r.last.Removed != "" {
		t.Errorf("%d frames of 2, %+v", len(frames), r.last)
	}
}
