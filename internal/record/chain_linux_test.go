package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
	"meridian/trace"
)

// kernelRecorder opens a recording of kernel events, or ends the test where the machine cannot record them.
func kernelRecorder(t testing.TB, o kernel.Options, w *trace.Warnings) (*kernel.Recorder, Source) {
	t.Helper()
	testneed.Long(t, "records kernel events")
	events, err := kernel.Open(o, w)
	var u *kernel.Unavailable
	if errors.As(err, &u) {
		testneed.Missing(t, "%v", u)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { events.Close() })
	source, err := Kernel(events)
	if err != nil {
		t.Fatal(err)
	}
	return events, source
}

// playing is a side of a ping-pong that was started on a host.
type playing struct {
	*process
	socket int
}

// word waits for a line that begins with a word, and reads the number behind it into n, unless that is nil.
func (p *playing) word(t testing.TB, word string, n *int) {
	t.Helper()
	if !p.lines.Scan() || !strings.HasPrefix(p.lines.Text(), word) {
		t.Fatalf("a side says %q, want %q", p.lines.Text(), word)
	}
	if n != nil {
		if _, err := fmt.Sscanf(p.lines.Text(), word+" %d", n); err != nil {
			t.Fatal(err)
		}
	}
}

// game is what was recorded of a ping-pong.
type game struct {
	chains
	summary Summary
	missed  uint64 // events for which the kernel ran no program
}

// play lets two hosts of one machine play messages to each other, and records them by sensors and the kernel's events.
func play(t *testing.T, network string, messages int) *game {
	t.Helper()
	lab := netlab.New(t)
	lab.Hosts("ping", "pong")
	lab.Link("ping", "pong")
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	var w trace.Warnings
	// The rings hold all that the test makes, some 12 MB, even if nobody reads them: what counts here is order, not speed.
	events, source := kernelRecorder(t, kernel.Options{Groups: kernel.Net | kernel.IRQ | kernel.Syscalls, OnlyFollowed: true, BufferSize: 32 << 20}, &w)

	var sides [2]*playing
	for i, names := range [2][2]string{{"ping", "pong"}, {"pong", "ping"}} {
		c := lab.Command(names[0], os.Args[0])
		sides[i] = &playing{process: launched(t, c, "pingpong", "PROGRAM="+names[0], "RING="+rings, "NETWORK="+network,
			fmt.Sprintf("BEGINS=%d", 1-i), fmt.Sprintf("MESSAGES=%d", messages),
			"OWN="+lab.Address(names[1], names[0]).String(), "PEER="+lab.Address(names[0], names[1]).String())}
		sides[i].word(t, "ready", nil)
		if err := events.Follow(sides[i].Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(Options{Dir: dir, Rings: []string{rings}, Sources: []Source{source}, Warnings: &w})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	g := &game{}
	done := make(chan error, 1)
	go func() {
		var err error
		g.summary, err = r.Run(ctx)
		done <- err
	}()
	for i := range sides {
		fmt.Fprintln(sides[1-i].in) // the one that listens first
	}
	for i, p := range sides {
		p.word(t, "socket", &p.socket)
		g.sides[i] = chainSide{pid: int64(p.Process.Pid), socket: uint64(p.socket)}
	}
	for _, p := range sides {
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if g.missed, err = events.Missed(); err != nil {
		t.Fatal(err)
	}
	if err := events.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range w.Lines() {
		t.Error(line)
	}
	if lost := g.read(t, dir, network == "tcp", messages, int(g.summary.Total.Lost)); lost != g.summary.Total.Lost {
		t.Errorf("%d events were lost by the trace, %d by the summary", lost, g.summary.Total.Lost)
	}
	return g
}

// TestChainsOfMessagesAreInTheOnlyPossibleOrder lets two hosts of one machine play 10,000 messages to each other, and
// holds the events of each of them, which came by two ways, against what must have been before what.
func TestChainsOfMessagesAreInTheOnlyPossibleOrder(t *testing.T) {
	const messages = 10_000
	for _, network := range []string{"udp", "tcp"} {
		t.Run(network, func(t *testing.T) {
			c := play(t, network, messages)
			t.Logf("%d events, %d lost, %d missed, %d moved; %d chains of %d whole; clocks known to %v", c.summary.Total.Events,
				c.summary.Total.Lost, c.missed, c.summary.Total.Moved, c.whole(), messages, c.summary.ClockError)
			if c.summary.Total.Lost > c.missed {
				t.Fatal("events were lost in rings that hold all of them")
			}
			if c.summary.Total.Lost < c.missed {
				t.Errorf("%d missed events are not counted as lost", c.missed-c.summary.Total.Lost)
			}
			// One message is under way at a time: an event is of one chain.
			if lacking := messages - c.whole(); uint64(lacking) > c.summary.Total.Lost {
				t.Errorf("%d chains are not whole, and %d events are counted as lost: %v", lacking, c.summary.Total.Lost, c.missing())
			}
			for _, l := range c.check(c.summary.ClockError) {
				t.Logf("%-16s before %-16s %5d times, the closest %v ns", points[l.before], points[l.after], l.checked, l.closest)
				if l.beyond > 0 {
					t.Errorf("%s comes before %s %d times, by up to %d ns; the clocks are known to %v", points[l.after], points[l.before], l.beyond, -l.closest, c.summary.ClockError)
				}
			}
			// A clock of the sensors that is wrong would have been seen, whichever way.
			const wrong = 100 * time.Microsecond
			for _, by := range []time.Duration{wrong, -wrong} {
				c.shift(by, beforeSend, afterReceive)
				if !slices.ContainsFunc(c.check(c.summary.ClockError), func(l verdict) bool { return l.beyond > 0 }) {
					t.Errorf("sensors that are off by %v would pass", by)
				}
				c.shift(-by, beforeSend, afterReceive)
			}
		})
	}
}

var discarded = regexp.MustCompile(`: event discarded by the tracer(?: \((\d+) times\))?$`)

// eachEvent calls do with each event of a trace, in its order; its values are valid until the next. It returns how many events
// the trace says were lost, and fails on other warnings.
func eachEvent(t testing.TB, dir string, do func(e *trace.Event, c *trace.Class, row *trace.Stream, values []trace.Value)) (lost uint64) {
	t.Helper()
	warnings, _ := scan(t, dir, func(e *trace.Event, s trace.Source) {
		do(e, &s.Classes()[e.Class], &s.Streams()[e.Stream], s.Values())
	})
	for _, line := range warnings {
		m := discarded.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%s: %s", dir, line)
			continue
		}
		n, err := strconv.ParseUint(cmp.Or(m[1], "1"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		lost += n
	}
	return lost
}
