package c_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"meridian/sensor/ring"
)

// strict is what programs that use the header may be compiled with. -O1 warns nearly as -O2 does, which the tests of all types
// add, and takes less time.
var strict = []string{"-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow", "-O1", "-pthread", "-I.", "-Itestdata"}

// packageOf returns the Debian package that has a program.
func packageOf(program string) string {
	switch program {
	case "unshare":
		return "util-linux"
	case "sh":
		return "dash"
	}
	return program
}

// compiler finds one, or skips the test: where everything must run (MERIDIAN_CI=1) it fails.
func compiler(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("left out with -short: it runs %s", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatalf("%s is not installed, and with MERIDIAN_CI=1 no test is skipped", name)
		}
		t.Skipf("%s is not installed: apt-get install %s runs this test", name, packageOf(name))
	}
	return path
}

// built is the programs that several tests run, by what they were compiled from.
var built sync.Map

type program struct {
	once sync.Once
	path string
	out  []byte
	err  error
}

var binaries string

func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "meridian-c-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(binaries)
	os.Exit(code)
}

// build compiles a program of testdata with the strict flags, and with those given behind them.
func build(t testing.TB, with string, args ...string) string {
	t.Helper()
	cc := compiler(t, with)
	key := strings.Join(append([]string{with}, args...), " ")
	v, _ := built.LoadOrStore(key, new(program))
	p := v.(*program)
	p.once.Do(func() {
		f, err := os.CreateTemp(binaries, "program")
		if err != nil {
			p.err = err
			return
		}
		f.Close()
		p.path = f.Name()
		p.out, p.err = exec.Command(cc, append(slices.Concat(strict, args), "-o", p.path)...).CombinedOutput()
	})
	if p.err != nil {
		t.Fatalf("%s: %v\n%s", key, p.err, p.out)
	}
	return p.path
}

// compile compiles a text with the strict flags, after the header, and returns what the compiler says.
func compile(t testing.TB, text, with string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(compiler(t, with), slices.Concat(strict, args)...)
	c.Stdin = strings.NewReader("#include \"meridian.h\"\n" + text + "\n")
	out, err := c.CombinedOutput()
	return string(out), err
}

// command is a program that will make its ring in a directory of the test's.
func command(t testing.TB, path string, args ...string) *exec.Cmd {
	c := exec.Command(path, append([]string{t.TempDir()}, args...)...)
	c.Env = append(os.Environ(), "MERIDIAN_EVENTS=", "MERIDIAN=")
	c.Stderr = new(strings.Builder)
	return c
}

// run runs a program to its end and returns the lines that it printed, the first of which is its ring.
func run(t testing.TB, c *exec.Cmd) []string {
	t.Helper()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, c.Stderr)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// begin starts a program and returns its ring and what it goes on to print.
func begin(t testing.TB, c *exec.Cmd) (path string, out *bufio.Reader) {
	t.Helper()
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewReader(pipe)
	path, err = out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v: %v\n%s", c.Args, err, c.Wait(), c.Stderr)
	}
	return strings.TrimSpace(path), out
}

// rings returns the rings in a directory.
func rings(t testing.TB, dir string) []string {
	t.Helper()
	found, err := ring.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// beginWaiting begins a program that goes on at each line that it is given, and opens its ring.
func beginWaiting(t testing.TB, c *exec.Cmd) (in io.WriteCloser, out *bufio.Reader, r *ring.Reader) {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	path, out := begin(t, c)
	return in, out, open(t, path)
}

// open opens a ring until the test's end.
func open(t testing.TB, path string) *ring.Reader {
	t.Helper()
	r, err := ring.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// event is one as the ring has it.
type event struct {
	shard  int
	stamp  uint64
	class  string // category:name
	fields []byte
}

func (e event) u64(at int) uint64 { return binary.LittleEndian.Uint64(e.fields[at:]) }

// taken is what was read from a ring.
type taken struct {
	events      []event
	discarded   map[int]uint64
	overwritten uint64
}

// take reads what the ring has now.
func (got *taken) take(t testing.TB, r *ring.Reader) {
	t.Helper()
	for {
		var p ring.Packet
		ok, err := r.Next(&p)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got.add(r, &p)
	}
	got.discarded = map[int]uint64{}
	for i := range r.Info().Shards {
		if n := r.Discarded(i); n > 0 {
			got.discarded[i] = n
		}
	}
}

func (got *taken) add(r *ring.Reader, p *ring.Packet) {
	le, classes := binary.LittleEndian, r.Classes()
	for b := p.Events; len(b) > 0; b = b[le.Uint16(b[10:]):] {
		c := classes[le.Uint16(b[8:])]
		got.events = append(got.events, event{p.Shard, le.Uint64(b), c.Category + ":" + c.Name, slices.Clone(b[12:le.Uint16(b[10:])])})
	}
	got.overwritten = max(got.overwritten, p.Overwritten)
}

func takeAll(t testing.TB, path string) (*ring.Reader, taken) {
	t.Helper()
	r := open(t, path)
	var got taken
	got.take(t, r)
	return r, got
}

// reads waits for a line.
func reads(t testing.TB, out *bufio.Reader) string {
	t.Helper()
	s, err := out.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

func names(paths []string) (short []string) {
	for _, p := range paths {
		short = append(short, filepath.Base(p))
	}
	return short
}
