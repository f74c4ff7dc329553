package main_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/format/ctf"
	"meridian/internal/netlab"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
)

var (
	chaosRounds = flag.Int("chaos-rounds", 20, "rounds of TestProcessesThatAreKilledPartedAndFilledLoseNothing")
	chaosSeed   = flag.Uint64("chaos-seed", 0, "of its first lab; 0 for that of the run")
	chaosFor    = flag.Duration("chaos-for", 0, "how long it goes on, instead of rounds; 0 for rounds")
	chaosApart  = flag.Duration("chaos-apart", 300*time.Millisecond, "for how long its hosts are parted at most")
)

// chaosLabs is how many labs share the rounds: most of a round is waiting.
const chaosLabs = 4

// What a long run does. One of its labs is spared: its processes live to the end, so that what they use can be compared. The other begins anew now and then.
const (
	longLabs    = 2
	longRounds  = 40              // of a lab that begins anew
	longPause   = time.Second     // between rounds, so that all of it takes about one processor
	sampleEvery = 5 * time.Second // of what processes use
)

// chaosMetrics is where the server tells what it uses, in its namespace.
const chaosMetrics = "127.0.0.1:9464"

// chaosSeedOf returns the seed of the first lab.
func chaosSeedOf(t *testing.T) uint64 {
	if *chaosSeed == 0 {
		return testseed.Seed(t)
	}
	return *chaosSeed
}

// chaos is a host with an agent and another with a broker and a server, each with a small disk.
type chaos struct {
	*collection
	lab     *netlab.Lab
	r       *rand.Rand
	address string // of the broker
	disks   [2]string

	broker *exec.Cmd
	ended  chan struct{} // closed when the agent has
	from   int           // number of the next event
	total  int           // events that were emitted
	struck map[string]int

	spared   bool // its processes are not killed
	number   *exec.Cmd
	outcomes *outcomes
	recent   []string  // faults of this round
	mended   time.Time // when the last one was
	samples  []sample
}

// Files of the disks: each holds what a test writes many times over.
const (
	chaosDisk = "64m"
	longDisk  = "1g" // of a lab that lives for hours
)

// mountSmall makes a directory with a small file system of its own.
func mountSmall(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("meridian", dir, "tmpfs", 0, "size="+size); err != nil {
		testneed.Missing(t, "a small file system cannot be mounted (run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func newChaos(t *testing.T, seed uint64, spared bool, o *outcomes) *chaos {
	c := &chaos{collection: &collection{t: t, dir: t.TempDir()}, lab: netlab.TwoHosts(t), r: rand.New(rand.NewPCG(seed, 19)), struck: map[string]int{}, spared: spared, outcomes: o}
	c.address = net.JoinHostPort(c.lab.Address("web", "db").String(), "4222")
	size := chaosDisk
	if spared {
		size = longDisk
	}
	for i := range c.disks {
		c.disks[i] = filepath.Join(c.dir, fmt.Sprint("disk", i))
		mountSmall(t, c.disks[i], size)
	}
	c.rings, c.trace, c.stored = filepath.Join(c.dir, "rings"), filepath.Join(c.disks[0], "trace"), filepath.Join(c.disks[1], "night", "web")
	if err := os.Mkdir(c.rings, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range c.recorders() {
			_ = p.Kill()
		}
	})
	c.startBroker()
	c.startServer()
	c.start(c.lab.Command("db", "chaos-sloth", c.address), "sloth")
	c.startAgent()
	return c
}

// start starts a process that logs into a file: recorders outlive their agents. It is killed at the end.
func (c *chaos) start(cmd *exec.Cmd, log string) *exec.Cmd {
	c.t.Helper()
	f, err := os.OpenFile(filepath.Join(c.dir, log+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if cmd.Stderr = f; cmd.Stdout == nil {
		cmd.Stdout = f
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

func (c *chaos) said(log string) string {
	b, _ := os.ReadFile(filepath.Join(c.dir, log+".log"))
	return string(b[max(0, len(b)-4000):])
}

// startAndRead starts a process and returns when it has printed a line. It is killed when the test ends.
func (c *chaos) startAndRead(cmd *exec.Cmd, log string) *exec.Cmd {
	c.t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Stdout = to
	c.start(cmd, log)
	to.Close()
	defer from.Close()
	if _, err := bufio.NewReader(from).ReadString('\n'); err != nil {
		c.t.Fatalf("%s: %v: %s", log, err, c.said(log))
	}
	return cmd
}

func (c *chaos) startBroker() {
	c.broker = c.lab.Command("db", "chaos-broker", c.address)
	c.startAndRead(c.broker, "broker")
}

func (c *chaos) startServer() {
	c.server = c.lab.Command("db", "meridian", "server", "--nats", "nats://"+c.address, "--dir", c.disks[1], "--name", "s", "--timeline", "on", "--http", chaosMetrics)
	c.startAndRead(c.server, "server")
}

func (c *chaos) startAgent() {
	agent := c.lab.Command("web", "meridian", "agent", "--server", "nats://"+c.address, "-o", c.trace, "--session", "night", "--host", "web", "--",
		"-q", "--rings", c.rings, "--flush", "10ms")
	c.agent, c.ended = c.start(agent, "agent"), make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = agent.Wait() // its exit code says how
	}()
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// strike does something to the lab and mends it.
func (c *chaos) strike() {
	faults := c.faults()
	if c.spared {
		faults = slices.DeleteFunc(faults, func(x fault) bool { return !x.keeps })
	}
	x := faults[c.r.IntN(len(faults))]
	c.struck[x.name]++
	x.do()
	c.recent, c.mended = append(c.recent, x.name), time.Now()
}

// fill leaves no room on a disk.
func (c *chaos) fill(disk string) {
	f, err := os.Create(filepath.Join(disk, ".full"))
	if err != nil {
		return // it is full
	}
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil || len(block) > 512; {
		if _, err = f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		c.t.Error(err)
	}
}

func (c *chaos) room(disk string) {
	if err := os.Remove(filepath.Join(disk, ".full")); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Error(err)
	}
}

// supervise starts an agent that has ended, as systemd does.
func (c *chaos) supervise() {
	select {
	case <-c.ended:
		c.startAgent()
	default:
	}
}

// prefix compares what the server has now with what the recorder has a moment later.
func (c *chaos) prefix() {
	c.t.Helper()
	_ = filepath.WalkDir(c.stored, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name()[0] == '.' || e.Name() == "metadata" {
			return nil // there is none yet, or it is replaced as a whole
		}
		stored, err := os.ReadFile(path)
		if err != nil {
			c.t.Error(err)
		}
		name, _ := filepath.Rel(c.stored, path)
		recorded, err := os.ReadFile(filepath.Join(c.trace, name))
		if err != nil || !strings.HasPrefix(string(recorded), string(stored)) {
			c.t.Errorf("%s: what the server has, %d bytes, does not begin what the recorder has, %d bytes: %v", name, len(stored), len(recorded), err)
		}
		return nil
	})
}

// round has a program emit numbered events while the lab is struck, and waits until the server has all that was recorded.
func (c *chaos) round() {
	c.t.Helper()
	c.recent = c.recent[:0]
	number := exec.Command("number")
	c.number = number
	number.Env = append(os.Environ(), "NUMBER_RINGS="+c.rings, fmt.Sprint("NUMBER_FROM=", c.from))
	if c.r.IntN(3) == 0 {
		number.Env = append(number.Env, "NUMBER_SMALL=1") // what has no room is counted
	}
	end, err := number.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	var last strings.Builder
	number.Stdout, number.Stderr = &last, os.Stderr
	if err := number.Start(); err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = number.Process.Kill() }()
	for range 1 + c.r.IntN(3) {
		time.Sleep(time.Duration(c.r.Int64N(int64(150 * time.Millisecond))))
		c.strike()
		c.supervise()
		c.prefix()
	}
	end.Close()
	if err := number.Wait(); err != nil {
		c.t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscan(last.String(), &n); err != nil {
		c.t.Fatalf("%q events: %v", last.String(), err)
	}
	c.total, c.from = c.total+n, c.from+1_000_000
	c.quiet()
	took := time.Since(c.mended)
	for _, name := range append(c.recent, unread) {
		c.outcomes.add(name, func(x *outcome) { x.tried, x.worstRecovery = x.tried+1, max(x.worstRecovery, took) })
	}
}

// quiet waits until the recorder has read all rings and the server has what the recorder has.
func (c *chaos) quiet() {
	c.t.Helper()
	pause := time.Duration(0)
	for until := time.Now().Add(90 * time.Second); ; time.Sleep(max(20*time.Millisecond, pause)) {
		began := time.Now()
		c.supervise()
		rings, err := filepath.Glob(filepath.Join(c.rings, "*"))
		if err != nil {
			c.t.Fatal(err)
		}
		var d []string
		if len(rings) == 0 {
			if d = c.differences(); d == nil {
				return
			}
			pause = 4 * time.Since(began) // it reads all that was recorded
		}
		if time.Now().After(until) {
			c.t.Fatalf("struck %v: after quiet there are the rings %v and the differences %v\nthe agent: %s\nthe server: %s\nthe broker: %s", c.struck, rings, d, c.said("agent"), c.said("server"), c.said("broker"))
		}
	}
}

// ends checks how the last agent ends: with 0, or with 3 where it has a reason.
func (c *chaos) ends(code int, discarded int64) {
	c.t.Helper()
	said := c.said("agent")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	switch {
	case code == 0:
	case code == 3 && discarded > 0 && strings.Contains(said, "events were lost: their buffers were full\n") &&
		(strings.HasSuffix(last, "the recorder ended with exit code 3") || strings.Contains(last, "an earlier recorder of ")):
	case code == 3 && c.struck[hostDiskFull] > 0 && strings.Contains(last, "an earlier recorder of ") && strings.Contains(last, "no space left on device"):
	default:
		c.t.Errorf("the agent ends with %d, and %d events are discarded: %s", code, discarded, said)
	}
}

// check compares the numbers that are stored with those that were emitted, and returns how many are said to be discarded.
func (c *chaos) check() (discarded int64) {
	c.t.Helper()
	t, err := ctf.Open(c.stored, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer t.Close()
	found, twice := map[int64]bool{}, int64(0)
	for _, s := range t.Streams {
		r := s.Reader()
		for err = r.Next(); err == nil; err = r.Next() {
			class, _ := r.Class()
			if class.Name != "test:number" {
				continue
			}
			_, values := r.Fields(ctf.PayloadScope)
			if n := values[0].Int(); found[n] {
				c.t.Errorf("event %d is there twice", n)
				twice++
			} else {
				found[n] = true
			}
		}
		if !errors.Is(err, io.EOF) {
			c.t.Error(err)
		}
		if discarded += r.Discarded; r.Lost+r.Damaged > 0 {
			c.t.Errorf("%s: %d packets are lost, %d damaged", s.Path, r.Lost, r.Damaged)
		}
	}
	missing := int64(c.total - len(found))
	for name := range c.struck {
		c.outcomes.add(name, func(x *outcome) { x.lost, x.twice = x.lost+max(missing-discarded, 0), x.twice+twice })
	}
	if missing < 0 || missing > discarded {
		c.t.Errorf("%d of %d events are stored, and %d are said to be discarded", len(found), c.total, discarded)
	}
	c.t.Logf("%d events emitted, %d stored, %d discarded; struck %v", c.total, len(found), discarded, c.struck)
	return discarded
}

// play plays rounds until there were enough, or it is time to end, and audits what is stored.
func (c *chaos) play(rounds int, until time.Time) {
	next := time.Now()
	for i := 0; i < rounds && (until.IsZero() || time.Now().Before(until)); i++ {
		if c.round(); c.t.Failed() {
			return
		}
		if until.IsZero() {
			continue
		}
		time.Sleep(longPause)
		if c.spared && time.Now().After(next) {
			c.samples, next = append(c.samples, c.look()), time.Now().Add(sampleEvery)
		}
	}
	_ = c.agent.Process.Signal(os.Interrupt)
	<-c.ended
	if d := c.differences(); d != nil {
		c.t.Error(d)
	}
	c.ends(c.agent.ProcessState.ExitCode(), c.check())
	if c.spared {
		flat(c.t, c.samples)
	}
}

// long plays one lab whose processes live on, and others one after the other, for as long as was asked for.
func long(t *testing.T, seed uint64, o *outcomes) {
	until := time.Now().Add(*chaosFor)
	var all sync.WaitGroup
	for i := range longLabs {
		all.Go(func() {
			for k := uint64(0); time.Now().Before(until) && !t.Failed(); k++ {
				rounds := longRounds
				if i == 0 {
					rounds = math.MaxInt
				}
				own := seed + uint64(i) + longLabs*k
				t.Run(fmt.Sprintf("seed %d", own), func(t *testing.T) { newChaos(t, own, i == 0, o).play(rounds, until) })
			}
		})
	}
	all.Go(func() {
		r := rand.New(rand.NewPCG(seed, 29))
		for time.Now().Before(until) && !t.Failed() {
			t.Run("clocks", func(t *testing.T) { wrongClocks(t, r, o) })
			time.Sleep(20 * longPause)
		}
	})
	all.Wait()
}

func TestProcessesThatAreKilledPartedAndFilledLoseNothing(t *testing.T) {
	testneed.Long(t, "kills processes in network namespaces")
	testneed.Program(t, "nft")
	seed := chaosSeedOf(t)
	var o outcomes
	defer func() { t.Logf("\n%s", o.table()) }()
	if *chaosFor > 0 {
		long(t, seed, &o)
		return
	}
	var all sync.WaitGroup
	for i := range chaosLabs {
		all.Go(func() {
			t.Run(fmt.Sprintf("seed %d", seed+uint64(i)), func(t *testing.T) {
				newChaos(t, seed+uint64(i), false, &o).play((*chaosRounds+chaosLabs-1-i)/chaosLabs, time.Time{})
			})
		})
	}
	all.Wait()
}
