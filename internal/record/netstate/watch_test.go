//go:build linux

package netstate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"meridian/internal/netlab"
	"meridian/internal/testneed"
)

func TestMain(m *testing.M) {
	netlab.Helper()
	goleak.VerifyTestMain(m)
}

// namespace returns the name of a host's namespace.
func namespace(lab *netlab.Lab, host string) string { return lab.Command(host, "true").Args[3] }

func ip(t *testing.T, lab *netlab.Lab, host string, args ...string) {
	t.Helper()
	if out, err := lab.Command(host, "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// awaitRunning waits until the kernel has told that an interface's cable carries something, up to a second after it was put up.
func awaitRunning(t *testing.T, netns, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w, err := Open(Options{NetNS: netns})
		if err != nil {
			t.Fatal(err)
		}
		all := w.Snapshot()
		w.Close()
		if slices.ContainsFunc(all, func(i Interface) bool { return i.Name == name && i.Running }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never runs: %+v", name, all)
		}
	}
}

func TestChangesOfANamespaceAreSeenInTheirOrder(t *testing.T) {
	lab := netlab.TwoHosts(t)
	awaitRunning(t, namespace(lab, "web"), "eth0")
	w, err := Open(Options{NetNS: namespace(lab, "web")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	start := w.Snapshot()
	if len(start) != 2 || start[0].Name != "lo" || start[1].Name != "eth0" || start[1].MTU != 1500 || len(start[1].MAC) != 6 ||
		!slices.ContainsFunc(start[1].Addresses, func(p netip.Prefix) bool { return p.Addr() == lab.Address("db", "web") }) {
		t.Fatalf("at the start: %+v", start)
	}

	ip(t, lab, "web", "address", "add", "192.0.2.1/24", "dev", "eth0")
	ip(t, lab, "web", "link", "set", "eth0", "mtu", "1400")
	ip(t, lab, "web", "address", "del", "192.0.2.1/24", "dev", "eth0")
	ip(t, lab, "web", "link", "add", "dummy0", "type", "veth", "peer", "name", "peer0")
	ip(t, lab, "web", "address", "add", "198.51.100.1/32", "dev", "dummy0")
	ip(t, lab, "web", "link", "set", "dummy0", "name", "other")
	ip(t, lab, "web", "link", "del", "other")

	var got []string
	last := int64(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = w.Read(ctx, func(c *Change) error {
		if c.Monotonic < last || c.Error < 0 || c.Realtime < 1e18 {
			t.Errorf("%v is stamped %+v, after %d", c.Kind, c.Stamp, last)
		}
		last = c.Monotonic
		if c.Kind == Present {
			return nil
		}
		if c.Address.IsValid() && c.Address.Addr().Is6() || c.Interface.Name == "peer0" {
			return nil // the kernel's own link-local addresses, and the other end of the cable
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(c.Kind, " ", c.Interface.Name, " ", c.Interface.MTU, " ", c.Address)))
		if c.Kind == Removed {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"address_added eth0 1500 192.0.2.1/24", "changed eth0 1400 invalid Prefix", "address_removed eth0 1400 192.0.2.1/24",
		"added dummy0 1500 invalid Prefix", "address_added dummy0 1500 198.51.100.1/32", "changed other 1500 invalid Prefix",
		"address_removed other 1500 198.51.100.1/32", "removed other 1500 invalid Prefix",
	}
	if !slices.Equal(got, want) {
		t.Errorf("seen:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if now := w.Snapshot(); len(now) != 2 || now[1].MTU != 1400 || w.Lost() != 0 {
		t.Errorf("at the end: %+v, %d lost", now, w.Lost())
	}
}

func TestWhatTheKernelDroppedIsAskedForAndCounted(t *testing.T) {
	lab := netlab.New(t)
	lab.Hosts("web")
	w, err := Open(Options{NetNS: namespace(lab, "web"), Buffer: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var batch strings.Builder
	const many = 200
	for i := range many {
		fmt.Fprintf(&batch, "address add 10.9.%d.1/32 dev lo\n", i)
	}
	command := lab.Command("web", "ip", "-batch", "-")
	command.Stdin = strings.NewReader(batch.String())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	added := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := w.Read(ctx, func(c *Change) error {
		if c.Kind == AddressAdded {
			if added++; added == many {
				cancel()
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if w.Lost() == 0 {
		t.Error("nothing was lost with the smallest buffer; the test says nothing")
	}
	if now := w.Snapshot(); len(now) != 1 || len(now[0].Addresses) < many {
		t.Errorf("known at the end: %+v", now)
	}
}

func TestReadEndsWithItsCallersErrorAndTellsThePresentOnce(t *testing.T) {
	w, err := Open(Options{}) // the namespace of the test, as any user may
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	enough := errors.New("enough")
	if err := w.Read(t.Context(), func(c *Change) error {
		if c.Kind != Present {
			t.Errorf("%v before what was present", c.Kind)
		}
		return enough
	}); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Read(ctx, func(c *Change) error {
		if c.Kind == Present {
			t.Errorf("told again what was present: %+v", c)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestANamespaceThatIsNotThereIsNamed(t *testing.T) {
	for _, name := range []string{"no-such-host", "/proc/self/ns/no-such"} {
		_, err := Open(Options{NetNS: name})
		if err == nil || !strings.Contains(err.Error(), "namespace "+name+" not found") {
			t.Errorf("%s: %v", name, err)
		}
	}
	testneed.Root(t, "entering a namespace")
	if _, err := Open(Options{NetNS: os.DevNull}); err == nil || !strings.Contains(err.Error(), os.DevNull) {
		t.Errorf("a file that is no namespace: %v", err)
	}
}
