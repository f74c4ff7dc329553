//go:build unix

package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/internal/netlab"
	"meridian/sensor"
	"meridian/trace"
)

// The test binary is also the programs that are recorded, and the recorder that is killed.
func TestMain(m *testing.M) {
	netlab.Helper()
	if be := roles[os.Getenv("MERIDIAN_RECORD_TEST")]; be != nil {
		be()
		return
	}
	os.Exit(m.Run())
}

var roles = map[string]func(){"program": beProgram, "recorder": beRecorder}

var number = sensor.NewEvent3[int, int, string]("test", "number", "goroutine", "n", "text")

// beProgram emits numbers from goroutines: so many each, or until stdin ends.
func beProgram() {
	atoi := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name))
		return n
	}
	o := sensor.Options{Program: os.Getenv("PROGRAM"), Dir: os.Getenv("RING"), Buffers: atoi("BUFFERS"), BufferSize: atoi("BUFFER_SIZE")}
	if err := sensor.Start(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	end := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	var all sync.WaitGroup
	total := make([]int, atoi("GOROUTINES"))
	for g := range total {
		all.Add(1)
		go func() {
			defer all.Done()
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for limit := atoi("EVENTS"); limit == 0 || total[g] < limit; total[g]++ {
				number.Emit(g, total[g], strings.Repeat("x", total[g]%7))
				if limit == 0 && total[g]%100 == 0 {
					select {
					case <-end:
						total[g]++
						return
					case <-pace.C:
					}
				}
			}
		}()
	}
	all.Wait()
	if os.Getenv("LATE") != "" {
		sensor.NewEvent1[float64]("test", "late", "value").Emit(0.5)
	}
	fmt.Println("emitted", total)
	if os.Getenv("DIE") != "" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if err := sensor.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-end
}

// beRecorder records until it is interrupted or killed, and says a word whenever it has counted.
func beRecorder() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	o := Options{Dir: os.Getenv("DIR"), Rings: []string{os.Getenv("RING")}, Interval: time.Millisecond,
		Counts: func(s Summary) { fmt.Println("counted", s.Total.Events) }}
	if keep, err := strconv.Atoi(os.Getenv("KEEP")); err == nil {
		o.Keep.Bytes = int64(keep)
	}
	if after := os.Getenv("AFTER"); after != "" {
		o.After = filepath.SplitList(after)
	}
	r, err := New(o)
	if err == nil {
		_, err = r.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a child of the test.
type process struct {
	*exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func started(t testing.TB, role string, environment ...string) *process {
	t.Helper()
	return launched(t, exec.Command(os.Args[0]), role, environment...)
}

// launched starts a command that starts this binary.
func launched(t testing.TB, c *exec.Cmd, role string, environment ...string) *process {
	t.Helper()
	c.Env = append(append(os.Environ(), "MERIDIAN_RECORD_TEST="+role, "GORACE=atexit_sleep_ms=0"), environment...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{c, in, bufio.NewScanner(out)}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			c.Process.Kill()
			c.Wait()
		}
	})
	return p
}

// program starts a program whose ring lies in a directory.
func program(t testing.TB, name, ring string, environment ...string) *process {
	return started(t, "program", append(environment, "PROGRAM="+name, "RING="+ring)...)
}

// emitted waits until the program has emitted all, and returns how many each goroutine did.
func (p *process) emitted(t testing.TB) (each []int) {
	t.Helper()
	for p.lines.Scan() {
		if list, ok := strings.CutPrefix(p.lines.Text(), "emitted ["); ok {
			for _, field := range strings.Fields(strings.TrimSuffix(list, "]")) {
				n, _ := strconv.Atoi(field)
				each = append(each, n)
			}
			return each
		}
	}
	t.Fatal("a program ended without its word")
	return nil
}

// end lets the program end.
func (p *process) end(t testing.TB) {
	t.Helper()
	p.in.Close()
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

// untilEnded records until so many programs were recorded and have ended.
func untilEnded(t testing.TB, o Options, programs int) Summary {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	o.Interval = time.Millisecond
	o.Counts = func(s Summary) {
		for _, c := range s.Streams {
			if c.Open {
				return
			}
		}
		if len(s.Streams) >= programs {
			cancel()
		}
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%d programs have not ended in five minutes: %+v", programs, s)
	}
	return s
}

// event is one as it was read.
type event struct {
	trace.Event
	class  trace.Class
	row    trace.Stream
	values []trace.Value
}

// read reads the events of a trace, and fails on warnings.
func read(t testing.TB, dir string) (all []event) {
	t.Helper()
	warnings, tally := scan(t, dir, func(e *trace.Event, s trace.Source) {
		at := event{Event: *e, class: s.Classes()[e.Class], row: s.Streams()[e.Stream]}
		for _, v := range s.Values() {
			at.values = append(at.values, v.Clone())
		}
		all = append(all, at)
	})
	for _, line := range warnings {
		if !strings.Contains(line, "discarded") {
			t.Errorf("%s: %s", dir, line)
		}
	}
	if tally.StepsBack+tally.Damaged+tally.Broken > 0 {
		t.Errorf("%s: %+v", dir, tally)
	}
	return all
}

// scan calls each with every event of a trace, and returns the warnings of reading it.
func scan(t testing.TB, dir string, each func(e *trace.Event, s trace.Source)) (warnings []string, tally ctf.Tally) {
	t.Helper()
	tally, warnings = ctftest.Each(t, dir, func(e *trace.Event, s *ctf.Source) { each(e, s) })
	return warnings, tally
}

// recordNothing lets a recorder run on a trace and end at once.
func recordNothing(t *testing.T, o Options) {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// numbers counts how often each number of each goroutine of a program is in events.
func numbers(all []event, pid int, into map[[2]int]int) {
	for _, e := range all {
		if e.class.Name == "test:number" && e.row.ID == int64(pid) {
			into[[2]int{int(e.values[0].Int()), int(e.values[1].Int())}]++
		}
	}
}
