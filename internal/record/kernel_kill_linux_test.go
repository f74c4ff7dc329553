package record

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/record/kernel"
	"meridian/internal/testseed"
	"meridian/trace"
)

func init() { roles["kernel recorder"] = beKernelRecorder }

const kernelRings = 16 << 20

// beKernelRecorder records the kernel's events until it is killed, and says a word when it has begun.
func beKernelRecorder() {
	err := func() error {
		events, err := kernel.Open(kernel.Options{Groups: kernel.Net | kernel.IRQ, BufferSize: kernelRings}, nil)
		if err != nil {
			return err
		}
		source, err := Kernel(events)
		if err != nil {
			return err
		}
		r, err := New(Options{Dir: os.Getenv("DIR"), Rings: []string{os.Getenv("RING")}, Sources: []Source{source}})
		if err != nil {
			return err
		}
		fmt.Println("recording")
		_, err = r.Run(context.Background())
		return err
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// numbered sends datagrams that a packet shows the number of: by their length and the port that they go to, where nobody is.
type numbered struct {
	conn *net.UDPConn
	port uint64
}

const (
	firstNumbered = 52_000
	eachPort      = 1000
)

func numberedDatagrams(t *testing.T) *numbered {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &numbered{conn, uint64(conn.LocalAddr().(*net.UDPAddr).Port)}
}

func (d *numbered) send(n int) error {
	to := net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: firstNumbered + n/eachPort}
	_, err := d.conn.WriteToUDP(make([]byte, 1+n%eachPort), &to)
	return err
}

// sendUntil sends datagrams from a number on until over is set, and returns the next number. It runs on one processor, so that
// one stream has them all: at a kill the streams are written up to different events.
func (d *numbered) sendUntil(over *atomic.Bool, next int) (int, error) {
	runtime.LockOSThread() // and stays so: the thread ends with its goroutine
	var processors unix.CPUSet
	err := unix.SchedGetaffinity(0, &processors)
	for one := 0; err == nil; one++ {
		if processors.IsSet(one) {
			processors.Zero()
			processors.Set(one)
			err = unix.SchedSetaffinity(0, &processors)
			break
		}
	}
	if err != nil {
		return next, err
	}
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for !over.Load() {
		for range 50 {
			if err := d.send(next); err != nil {
				return next, err
			}
			next++
		}
		<-pace.C
	}
	return next, nil
}

// readNumbers returns how often a trace has each datagram when it was sent, how many events there are, and the warnings of
// reading it.
func (d *numbered) readNumbers(t *testing.T, dir string) (found map[int]int, events int, warnings []string) {
	t.Helper()
	found = map[int]int{}
	warnings, _ = scan(t, dir, func(e *trace.Event, s trace.Source) {
		events++
		c := &s.Classes()[e.Class]
		if c.Name != "net_dev_queue" {
			return
		}
		udp := header{c.Fields, s.Values()}.into("network_header").into("transport_header")
		if to := udp.number("dest_port"); udp.number("source_port") == d.port && to >= firstNumbered {
			found[int(to-firstNumbered)*eachPort+int(udp.number("len"))-8-1]++
		}
	})
	return found, events, warnings
}

// TestKernelEventsOfAKilledRecorderAreReadable kills recorders of the kernel's events while datagrams go out: whatever was
// in the trace once stays, nothing is missing before the last that is there, and the next recorder goes on beside it.
func TestKernelEventsOfAKilledRecorderAreReadable(t *testing.T) {
	probe, _ := kernelRecorder(t, kernel.Options{Groups: kernel.Net}, nil)
	probe.Close()
	random := testseed.New(t)
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	d := numberedDatagrams(t)
	next := 0
	lossy := false // a machine whose processors are all taken loses events, and counts them
	for range 2 {
		r := started(t, "kernel recorder", "RING="+rings, "DIR="+dir)
		if !r.lines.Scan() {
			t.Fatal("the recorder did not begin")
		}
		first := next
		var over atomic.Bool
		sent := make(chan error, 1)
		go func() {
			n, err := d.sendUntil(&over, first)
			next = n
			sent <- err
		}()
		var seen int
		for seen == 0 { // it is read while it is written
			found, _, _ := d.readNumbers(t, dir)
			for n := range found {
				seen = max(seen, n-first+1)
			}
		}
		<-time.After(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		r.Process.Kill()
		r.Process.Wait()
		over.Store(true)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}

		found, events, warnings := d.readNumbers(t, dir)
		lossy = lossy || slices.ContainsFunc(warnings, func(line string) bool { return strings.Contains(line, "discarded by the tracer") })
		kept := 0
		for found[first+kept] == 1 {
			kept++
		}
		last := 0
		for n, times := range found {
			if last = max(last, n); times != 1 {
				t.Errorf("datagram %d is there %d times", n, times)
			}
		}
		if (kept < seen || first+kept != last+1) && !lossy {
			t.Errorf("of datagrams %d to %d the first %d are there, and others up to %d; %d were before the kill", first, next-1, kept, last, seen)
		}
		for _, line := range warnings {
			if !strings.Contains(line, "cut short") && !strings.Contains(line, "discarded by the tracer") {
				t.Error(line)
			}
		}
		printed, problems := babeltraceTorn(t, dir)
		if len(warnings) == 0 && (printed != events || problems != "") || printed == 0 {
			t.Errorf("babeltrace2 prints %d events of %d: %s", printed, events, problems)
		}
		t.Logf("%d events, of %d datagrams %d; %d before the kill; %q", events, next-first, kept, seen, warnings)
	}
	// The next recorder cuts off what is torn.
	recordNothing(t, Options{Dir: dir, Rings: []string{rings}})
	all := read(t, dir)
	if n := babeltraceWithLoss(t, dir); n != len(all) || n == 0 {
		t.Errorf("babeltrace2 prints %d events of %d", n, len(all))
	}
}
