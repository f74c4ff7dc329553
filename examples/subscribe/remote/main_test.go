package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"meridian/internal/testneed"
	"meridian/sensor"
)

// The test's binary is the example itself, as a process that can be stopped.
func TestMain(m *testing.M) {
	if os.Getenv("REMOTE_IS_EXAMPLE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a program whose lines are read.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	log   string // what it says on stderr, a file
	// first and last are the first and the greatest number that came, missing are those between that did not.
	first, last int64
	missing     map[int64]bool
}

func start(t *testing.T, said string, env []string, args ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(args[0], args[1:]...), log: log.Name(), last: -1, missing: make(map[int64]bool)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), env...), log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		_ = p.cmd.Process.Signal(os.Interrupt) // unless it has ended
		_ = p.cmd.Wait()
		if b, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s: %s", said, b)
		}
		log.Close()
	})
	return p
}

// maxBehind is how many events may come before one that is late: the program's goroutine moves from one thread's stream to another's.
const maxBehind = 1000

// read reads so many events, and on until none is missing. Each comes once.
func (p *process) read(n int) {
	p.t.Helper()
	for i := 0; i < n || len(p.missing) > 0; i++ {
		if i > n+maxBehind {
			p.t.Fatalf("of the events up to %d %d are missing", p.last, len(p.missing))
		}
		if !p.lines.Scan() {
			p.t.Fatalf("%v ended: %v", p.cmd.Args, p.lines.Err())
		}
		var e struct {
			Event  string
			Fields struct{ N int64 }
		}
		if err := json.Unmarshal(p.lines.Bytes(), &e); err != nil {
			p.t.Fatalf("%q: %v", p.lines.Text(), err)
		}
		if e.Event == "test:number" || e.Event == "number" {
			p.take(e.Fields.N)
		}
	}
}

// take notes the number of an event.
func (p *process) take(n int64) {
	p.t.Helper()
	switch {
	case p.last < 0: // the first that it gets
		p.first, p.last = n, n
	case n < p.first: // one that is late
	case n > p.last:
		for p.last++; p.last < n; p.last++ {
			p.missing[p.last] = true
		}
	case p.missing[n]:
		delete(p.missing, n) // it was late
	default:
		p.t.Fatalf("event %d comes again, after %d", n, p.last)
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Two subscribers read a session. While one is stopped, the other and the collection go on, and the stopped one misses nothing that is held for it. What a
// third keeps of the packets is a trace.
func TestASubscriberThatIsStoppedDelaysNobody(t *testing.T) {
	testneed.Long(t, "builds the command")
	python, babeltrace, dir := testneed.Program(t, "python3"), testneed.Program(t, "babeltrace2"), t.TempDir()
	meridian, packets := filepath.Join(dir, "meridian"), filepath.Join(dir, "packets")
	// go run keeps what it links.
	for out, of := range map[string]string{meridian: "meridian/cmd/meridian", packets: "meridian/examples/subscribe/packets"} {
		if said, err := exec.Command("go", "run", "-exec", "cp", of, out).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	server := start(t, "server", nil, meridian, "server", "--dir", filepath.Join(dir, "stored"), "--listen", "127.0.0.1:0", "--timeline", "on", "--latency", "5ms", "--http", "127.0.0.1:0")
	if !server.lines.Scan() {
		t.Fatal("the server has ended")
	}
	url := server.lines.Text()
	rings := filepath.Join(dir, "rings")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	agent := start(t, "agent", nil, meridian, "agent", "--server", url, "-o", filepath.Join(dir, "trace"), "--session", "night", "--host", "web", "--batch", "2ms", "--", "-q", "--rings", rings, "--flush", "5ms")
	if err := sensor.Start(sensor.Options{Dir: rings}); err != nil {
		t.Fatal(err)
	}
	number, done, ended := sensor.NewEvent1[int]("test", "number", "n"), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			number.Emit(n)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	defer func() {
		close(done)
		<-ended
		if err := sensor.Stop(); err != nil {
			t.Error(err)
		}
	}()

	subscribers := []*process{start(t, "Go", []string{"REMOTE_IS_EXAMPLE=1"}, os.Args[0], "-server", url, "night")}
	events := server.says(regexp.MustCompile(`events and metrics: (http://\S+)`)) + "/night/events"
	await(t, events)
	subscribers = append(subscribers, start(t, "Python", nil, python, "-u", "subscribe.py", events))
	keeper := start(t, "packets", nil, packets, "-server", url, "night", filepath.Join(dir, "kept"))
	for _, s := range subscribers {
		s.read(100)
	}
	if !keeper.lines.Scan() {
		t.Fatal("the subscriber of packets has ended")
	}
	for i, stopped := range subscribers {
		stopped.signal(syscall.SIGSTOP)
		subscribers[1-i].read(700)
		stopped.signal(syscall.SIGCONT)
		stopped.read(700)
	}
	subscribers[0].signal(syscall.SIGSTOP)
	agent.signal(os.Interrupt)
	if err := agent.cmd.Wait(); err != nil {
		t.Errorf("not all that was recorded is on the server's disk: %v", err)
	}
	keeper.signal(syscall.SIGSTOP)
	kept := exec.Command(babeltrace, keeper.lines.Text())
	var said strings.Builder
	kept.Stderr = &said
	out, err := kept.Output()
	// On a busy machine the ring may have been full: then the packets say so.
	others := slices.DeleteFunc(strings.Split(strings.TrimSpace(said.String()), "\n"), func(line string) bool {
		return line == "" || strings.Contains(line, "Tracer may have discarded events")
	})
	if err != nil || len(others) > 0 || strings.Count(string(out), "test:number") < 700 {
		t.Errorf("babeltrace2 prints %d lines of the packets that were kept: %v: %s", strings.Count(string(out), "\n"), err, said.String())
	}
}

// await waits until a session is followed.
func await(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r, err := http.Head(url); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Fatal(strings.TrimPrefix(url, "http://") + " does not come")
}

// says waits until a process says something on stderr, and returns what it says there.
func (p *process) says(what *regexp.Regexp) string {
	p.t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(p.log)
		if err != nil {
			p.t.Fatal(err)
		}
		if found := what.FindSubmatch(b); found != nil {
			return string(found[1])
		}
	}
	p.t.Fatalf("%v does not say %v", p.cmd.Args, what)
	return ""
}

// The client in Python ends without a word when it is interrupted, or when nobody reads its output.
func TestTheClientInPythonEndsQuietly(t *testing.T) {
	t.Parallel()
	python := testneed.Program(t, "python3")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	events := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("id: x/1\ndata: {}\n\n")); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // a client that has gone ends the context
			time.Sleep(time.Millisecond)
		}
	})}
	go func() { _ = events.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = events.Close() })
	for _, how := range []string{"interrupted", "unread"} {
		c := exec.Command(python, "subscribe.py", "http://"+l.Addr().String()+"/")
		var said strings.Builder
		c.Stderr = &said
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		if how == "unread" {
			err = out.Close()
		} else {
			err = c.Process.Signal(os.Interrupt)
			_, _ = lines.WriteTo(io.Discard) // to its end
		}
		if err = errors.Join(err, c.Wait()); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v: %s", how, err, said.String())
		}
		late.Stop()
	}
}
