package probetrace

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/netlab"
	"meridian/internal/probe"
	"meridian/internal/record"
)

func TestMain(m *testing.M) { netlab.Main(m) }

// within calls f in a host's network namespace.
func within(t *testing.T, lab *netlab.Lab, host string, f func()) {
	t.Helper()
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	other, err := os.Open(filepath.Join("/run/netns", lab.Namespace(host)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Setns(int(other.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	f()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err) // and the thread ends with the test
	}
	runtime.UnlockOSThread()
}

// ends is a client and a server in two namespaces, each of which writes a trace.
type ends struct {
	client *probe.Client
	server *probe.Server
	dirs   [2]string // of the client, of the server
}

// exchange runs both ends until each returns false.
func exchange(t *testing.T, lab *netlab.Lab, address netip.Addr, o probe.Options, each func(probe.Sample) bool) *ends {
	t.Helper()
	e := new(ends)
	dir := t.TempDir()
	recording, stop := context.WithCancel(t.Context())
	recorded := make(chan error, 2)
	var writers [2]*Writer
	for i, name := range [2]string{"web", "db"} {
		e.dirs[i] = filepath.Join(dir, name)
		w, err := New(record.Options{Dir: e.dirs[i], Host: name})
		if err != nil {
			t.Fatal(err)
		}
		writers[i] = w
		go func() { recorded <- w.Run(recording) }()
		<-w.Ready()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	o.Key = probe.NewKey()
	var err error
	within(t, lab, "db", func() {
		served := o
		served.Record = writers[1].Record
		e.server, err = probe.Listen(ctx, netip.AddrPortFrom(address, 0).String(), served)
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	serving, end := context.WithCancel(t.Context())
	go func() { served <- e.server.Serve(serving) }()
	within(t, lab, "web", func() {
		o.Record = writers[0].Record
		e.client, err = probe.Dial(ctx, o, e.server.Addr().String())
	})
	if err != nil {
		t.Fatal(err)
	}
	err = e.client.Run(ctx, func(s probe.Sample) {
		if !each(s) {
			cancel()
		}
	})
	if err != nil || context.Cause(ctx) != context.Canceled {
		t.Errorf("the client ended with %v, %v", err, context.Cause(ctx))
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
	stop()
	for range writers {
		if err := <-recorded; err != nil {
			t.Error(err)
		}
	}
	return e
}

func TestProbesAreMessagesOfTheTrace(t *testing.T) {
	lab := netlab.TwoHosts(t)
	n := 0
	e := exchange(t, lab, lab.Address("web", "db"), probe.Options{Rate: 100}, func(s probe.Sample) bool {
		n++
		return n < 200
	})
	t.Logf("%+v\n%+v", e.client.Stats(), e.server.Stats())
}
