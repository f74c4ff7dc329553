package probetrace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/format/ctf"
	tail "meridian/internal/live"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/probe"
	"meridian/internal/record"
	"meridian/internal/testneed"
	"meridian/trace"
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

// ends is a client and a server in two namespaces, each of which writes a trace into one of two directories.
type ends struct {
	client *probe.Client
	server *probe.Server
	traces [2]*Writer
}

// exchange runs both ends until each returns false.
func exchange(t *testing.T, lab *netlab.Lab, address netip.Addr, dirs [2]string, o probe.Options, each func(*ends, probe.Sample) bool) *ends {
	t.Helper()
	e := new(ends)
	recording, stop := context.WithCancel(t.Context())
	recorded := make(chan error, 2)
	for i, name := range [2]string{"web", "db"} {
		w, err := New(record.Options{Dir: dirs[i], Host: name, Flush: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		e.traces[i] = w
		go func() { recorded <- w.Run(recording) }()
		<-w.Ready()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	o.Key = probe.NewKey()
	var err error
	within(t, lab, "db", func() {
		served := o
		served.Record = e.traces[1].Record
		e.server, err = probe.Listen(ctx, netip.AddrPortFrom(address, 0).String(), served)
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	serving, end := context.WithCancel(t.Context())
	go func() { served <- e.server.Serve(serving) }()
	within(t, lab, "web", func() {
		o.Record = e.traces[0].Record
		e.client, err = probe.Dial(ctx, o, e.server.Addr().String())
	})
	if err != nil {
		t.Fatal(err)
	}
	err = e.client.Run(ctx, func(s probe.Sample) {
		if !each(e, s) {
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
	for range e.traces {
		if err := <-recorded; err != nil {
			t.Error(err)
		}
	}
	return e
}

// line is an event as meridian tail --json and outputs of meridian align have it.
type line struct {
	Low      *int64 `json:"low_ns"`
	High     *int64 `json:"high_ns"`
	Recorded int64  `json:"recorded_ns"`
	Host     string `json:"host"`
	Event    string `json:"event"`
	Flow     uint64 `json:"flow"`
}

// endOf names an event.
type endOf struct {
	event string
	flow  uint64
}

// lines reads the probes of a host.
func lines(t *testing.T, from io.Reader, host string) map[endOf]line {
	t.Helper()
	all := make(map[endOf]line)
	for d := json.NewDecoder(from); ; {
		var l line
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		if l.Host == host && l.Flow != 0 {
			all[endOf{l.Event, l.Flow}] = l
		}
	}
}

// ahead returns by how much a host's stamps are ahead of MONOTONIC.
func ahead(t *testing.T, dir string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := ctf.ParseMetadata(b, dir, new(trace.Warnings))
	if err != nil {
		t.Fatal(err)
	}
	return m.Clocks[0].OffsetSeconds*1e9 + m.Clocks[0].Offset
}

// Two hosts have no traffic but probes. Their traces are followed while they grow and aligned afterwards: every event of the second
// host lies within both bounds at the instant that the first one's clock showed, which is the same clock.
func TestLiveAndOfflineAlignmentAgreeOnProbesAlone(t *testing.T) {
	testneed.Program(t, "babeltrace2")
	lab := netlab.TwoHosts(t)
	for name, address := range map[string]netip.Addr{"IPv4": lab.Address("web", "db"), "IPv6": lab.Address6("web", "db")} {
		t.Run(name, func(t *testing.T) {
			live := new(tailed)
			following, leave := context.WithCancel(t.Context())
			followed := make(chan error, 1)
			samples, opened := 0, false
			dirs := [2]string{filepath.Join(t.TempDir(), "web"), filepath.Join(t.TempDir(), "db")}
			e := exchange(t, lab, address, dirs, probe.Options{Rate: 200}, func(_ *ends, _ probe.Sample) bool {
				switch samples++; samples {
				case 1:
					go func() {
						inputs := []tail.Input{{Host: "web", Dir: dirs[0]}, {Host: "db", Dir: dirs[1]}}
						_, err := tail.Tail(following, tail.Options{Inputs: inputs}, tail.TailOptions{Format: "json"}, live, new(trace.Warnings))
						followed <- err
					}()
				case 200:
					opened = true
					for _, dir := range dirs {
						if out, err := exec.Command("babeltrace2", dir).CombinedOutput(); err != nil {
							t.Errorf("babeltrace2 of a growing trace: %v: %.300s", err, out)
						}
					}
				}
				return samples < 450 || live.bounds() < 100 // a busy machine shows some events before it knows bounds of theirs
			})
			leave()
			if err := <-followed; err != nil {
				t.Error(err)
			}
			file := filepath.Join(t.TempDir(), "all.jsonl")
			traces, err := input.Parse([]string{"web=" + dirs[0], "db=" + dirs[1]})
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := pipeline.Run(t.Context(), traces, pipeline.Options{Outputs: []string{file}})
			if err != nil || len(outcome.Broken) > 0 {
				t.Fatalf("%+v, %v", outcome, err)
			}
			whole, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Close()

			offline, online := lines(t, whole, "db"), lines(t, &live.text, "db")
			shift := ahead(t, dirs[0]) - ahead(t, dirs[1])
			bounded := 0
			for key, l := range offline {
				truth := l.Recorded + shift
				if l.Low == nil || truth < *l.Low-slack || truth > *l.High+slack {
					t.Fatalf("offline: %+v is at %d", l, truth)
				}
				if o, ok := online[key]; ok && o.Low != nil {
					bounded++
					if truth < *o.Low-slack || truth > *o.High+slack || *o.Low > *l.High || *o.High < *l.Low {
						t.Fatalf("live %+v, offline %+v: at %d", o, l, truth)
					}
				}
			}
			want, lost := int(2*e.server.Stats().Exchanges), 0
			for _, n := range e.traces[1].Lost() {
				lost += int(n)
			}
			if !opened || len(offline)+lost < want-10 || bounded == 0 {
				t.Errorf("%d probes offline, %d of them bounded live, of %d; %d are lost", len(offline), bounded, want, lost)
			}
			t.Logf("%d probes, %d bounded live", len(offline), bounded)
		})
	}
}

// tailed takes the lines of a tail and counts bounds.
type tailed struct {
	mu    sync.Mutex
	text  bytes.Buffer
	known int
}

func (x *tailed) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known += bytes.Count(b, []byte(`"low_ns":1`)) // of this century
	return x.text.Write(b)
}

func (x *tailed) bounds() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known
}

// slack is by how much the stamps themselves may be off, ns: readings of REALTIME beside MONOTONIC at both ends.
const slack = 500

// A wire loses, repeats and reorders. Both ends have one clock, so that the offset is 0: each exchange must enclose it.
func TestADisturbedWireMakesNoFalseExchange(t *testing.T) {
	lab := netlab.New(t)
	lab.Hosts("web", "db")
	lab.Disturbed("wire", "web", "db", netlab.Disturbance{Lost: 0.1, Repeated: 0.1, Delay: time.Millisecond, Late: 0.2, Seed: 7})
	dirs := [2]string{filepath.Join(t.TempDir(), "web"), filepath.Join(t.TempDir(), "db")}
	samples, late, user := 0, 0, uint64(0)
	e := exchange(t, lab, lab.Address("wire", "db"), dirs, probe.Options{Rate: 400, Clock: probe.System()}, func(e *ends, s probe.Sample) bool {
		ceiling := int64(s.T2.Time-s.T1.Time) + s.T1.Error + s.T2.Error
		floor := int64(s.T3.Time-s.T4.Time) - s.T3.Error - s.T4.Error
		for _, here := range []probe.Stamp{s.T1, s.T4} {
			if !s.Late && here.Kind != probe.Kernel {
				user++ // the kernel's stamp came too late on a busy machine
			}
		}
		if floor > 0 || ceiling < 0 || s.Late != (s.T3.Kind == probe.Kernel) {
			t.Errorf("the offset is 0, the exchange says %d to %d: %+v", floor, ceiling, s)
		}
		if s.Late {
			late++
		}
		samples++
		there, here := e.server.Stats(), e.client.Stats()
		return samples < 500 || late < 100 || here.Lost == 0 || here.Dropped[probe.Replayed] == 0 || there.Dropped[probe.Replayed] == 0
	})
	c, s := e.client.Stats(), e.server.Stats()
	t.Logf("%d samples, %d late\n%+v\n%+v", samples, late, c, s)
	if user != c.User || c.Kernel == 0 {
		t.Errorf("%d stamps of the client are not the kernel's, counted are %d", user, c.User)
	}
}
