package collect_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/spool"
	"meridian/internal/testneed"
)

// cluster is ordinary NATS servers, each a process.
type cluster struct {
	t       *testing.T
	program string
	configs []string
	urls    []string
	all     []*exec.Cmd
}

func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{t: t, program: filepath.Join(dir, "nats-server"), all: make([]*exec.Cmd, n)}
	if out, err := exec.Command("go", "build", "-o", c.program, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var listens, routes []string
	for range 2 * n { // all at once, so that they differ
		l, err := net.Listen("tcp", net.JoinHostPort(ownLoopback(), "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		listens = append(listens, l.Addr().String())
		l.Close()
	}
	for i := range n {
		c.urls, routes = append(c.urls, "nats://"+listens[i]), append(routes, "nats://"+listens[n+i])
	}
	for i := range n {
		config := filepath.Join(dir, fmt.Sprint(i, ".conf"))
		text := fmt.Sprintf("listen: %q\nserver_name: n%d\nno_fast_producer_stall: true\ncluster { name: c, listen: %q, routes: [%s] }\n", listens[i], i, listens[n+i], strings.Join(routes, ", "))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.configs = append(c.configs, config)
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.all {
			c.kill(i)
		}
	})
	return c
}

// ownLoopback returns an address of this machine that no other process takes a port of: ports that were free stay so.
func ownLoopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1" // it may be the only one
	}
	pid := os.Getpid() // of 22 bits
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&63, pid>>8&255, pid&255)
}

func (c *cluster) start(i int) {
	c.t.Helper()
	c.all[i] = exec.Command(c.program, "-c", c.configs[i])
	if err := c.all[i].Start(); err != nil {
		c.t.Fatal(err)
	}
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.urls[i], "nats://"))
		if err == nil {
			conn.Close()
			return
		} else if time.Now().After(until) {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) kill(i int) {
	_ = c.all[i].Process.Kill()
	_ = c.all[i].Wait()
}

// loaded is a host that records all the time, with two servers at a cluster.
type loaded struct {
	*lab
	dir     string
	servers [2]string
	w       *traceWriter
	written map[string][]byte // of all that was recorded

	turn    int
	stalled time.Time // since when servers have got nothing; zero: they have all
	seen    int64
	longest time.Duration
}

func (c *loaded) stored(i int) string { return filepath.Join(c.servers[i], "s", "web") }

// size returns how many bytes there are of a stream's present chunk, on the host or on the server that has less.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (c *loaded) name() string { return fmt.Sprintf("kernel_1_0_%d", c.turn) }

// record writes for a while, until an event is there if one is waited for, and notes for how long servers get nothing.
func (c *loaded) record(d time.Duration, until func() bool) {
	c.t.Helper()
	end, limit := time.Now().Add(d), time.Now().Add(90*time.Second)
	for time.Now().Before(end) || until != nil && !until() {
		if time.Now().After(limit) {
			c.t.Fatalf("servers have %d and %d bytes of %s, of %d", size(filepath.Join(c.stored(0), c.name())), size(filepath.Join(c.stored(1), c.name())), c.name(), size(filepath.Join(c.dir, c.name())))
		}
		p := c.w.packet(64 + 8*c.w.r.IntN(8000))
		c.w.write(c.name(), p)
		c.written[c.name()] = append(c.written[c.name()], p...)
		time.Sleep(2 * time.Millisecond)
		c.measure()
	}
}

func (c *loaded) measure() {
	now, have := time.Now(), min(size(filepath.Join(c.stored(0), c.name())), size(filepath.Join(c.stored(1), c.name())))
	switch {
	case have != c.seen || have >= int64(len(c.written[c.name()])):
		c.seen, c.stalled = have, time.Time{}
	case c.stalled.IsZero():
		c.stalled = now
	default:
		c.longest = max(c.longest, now.Sub(c.stalled))
	}
}

// caughtUp reports whether both servers have nearly all of the present chunk.
func (c *loaded) caughtUp() bool {
	return size(filepath.Join(c.stored(0), c.name())) > 0 && min(size(filepath.Join(c.stored(0), c.name())), size(filepath.Join(c.stored(1), c.name())))+256<<10 >= int64(len(c.written[c.name()]))
}

// accounted reports whether the agent's account says that servers have all of a chunk.
func (c *loaded) accounted(name string) bool {
	account, err := spool.Read(c.dir)
	return err == nil && account.Files[name].Acknowledged == int64(len(c.written[name]))
}

// next begins another chunk of the stream.
func (c *loaded) next() { c.turn, c.seen, c.stalled = c.turn+1, 0, time.Time{} }

// acknowledged compares what the agent's account says with what servers have, but for one that has lost its disk, and releases whole chunks.
func (c *loaded) acknowledged(but int, release bool) {
	c.t.Helper()
	account, err := spool.Read(c.dir)
	if err != nil {
		return // there is none yet
	}
	for name, part := range account.Files {
		for i := range c.servers {
			if n := size(filepath.Join(c.stored(i), name)); i != but && n < part.Acknowledged {
				c.t.Errorf("%s: %d bytes are acknowledged, and server %d has %d", name, part.Acknowledged, i, n)
			}
		}
		if release && name != c.name() && part.Acknowledged == int64(len(c.written[name])) && strings.HasPrefix(name, "kernel_") {
			if err := os.Remove(filepath.Join(c.dir, name)); err != nil && !os.IsNotExist(err) {
				c.t.Error(err)
			}
		}
	}
}

func newLoaded(t *testing.T, urls []string) *loaded {
	c := &loaded{lab: &lab{t: t, urls: strings.Join(urls, ",")}, dir: filepath.Join(t.TempDir(), "trace"), servers: [2]string{t.TempDir(), t.TempDir()}, written: map[string][]byte{}}
	c.w = newTrace(t, c.dir, 11)
	c.w.longMetadata(1, 100<<10)
	return c
}

// check ships the rest and compares all.
func (c *loaded) check() {
	c.t.Helper()
	sum := c.ship(ship.Options{Host: "web", Session: "s", Dir: c.dir, Replicas: 2})
	if sum.Lost != 0 || sum.Acknowledged != sum.Recorded {
		c.t.Errorf("%+v", sum)
	}
	for i := range c.servers {
		got := files(c.t, c.stored(i))
		if got[wire.Metadata] == nil || string(got[wire.Metadata]) != string(files(c.t, c.dir)[wire.Metadata]) {
			c.t.Errorf("server %d has other metadata", i)
		}
		if delete(got, wire.Metadata); !equal(c.written, got) {
			c.t.Errorf("server %d has %v of %v", i, sizes(got), sizes(c.written))
		}
	}
}

func (c *loaded) agent() (conn *nats.Conn, stop func() ship.Summary) {
	c.t.Helper()
	conn = c.connectAs("web")
	s, err := ship.New(ship.Options{Conn: wire.Over(conn), Host: "web", Session: "s", Dir: c.dir, Replicas: 2, Log: c.t.Logf})
	if err != nil {
		c.t.Fatal(err)
	}
	return conn, runs(c.t, s)
}

func TestABrokerOfAClusterThatIsKilledLosesNothing(t *testing.T) {
	testneed.Long(t, "builds nats-server")
	t.Parallel()
	brokers := newCluster(t, 3)
	c := newLoaded(t, brokers.urls)
	for i, name := range []string{"a", "b"} {
		c.serve(name, c.servers[i], store.OS{})
	}
	conn, stop := c.agent()
	c.record(0, c.caughtUp)
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 4 {
		victim := r.IntN(len(brokers.urls))
		if n%2 == 0 { // the one to which the agent is connected
			for i, url := range brokers.urls {
				if conn.ConnectedUrl() == url {
					victim = i
				}
			}
		}
		c.record(100*time.Millisecond, nil)
		brokers.kill(victim)
		c.acknowledged(-1, false)
		c.next()
		c.record(200*time.Millisecond, c.caughtUp)
		brokers.start(victim)
	}
	stop()
	c.acknowledged(-1, false)
	c.check()
	t.Logf("%d chunks; servers got nothing for %v at most", len(c.written), c.longest)
}

func TestACollectorThatIsDestroyedWithItsDiskUnderLoadIsFilledFromTheOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := newLoaded(t, []string{l.broker.URL()})
	var ends [2]func()
	for i, name := range []string{"a", "b"} {
		ends[i] = c.serve(name, c.servers[i], store.OS{})
	}
	_, stop := c.agent()
	for n := range 2 {
		c.record(0, c.caughtUp)
		complete := c.name()
		c.next()
		c.record(0, func() bool { return c.caughtUp() && c.accounted(complete) })
		c.acknowledged(-1, true)
		victim := n % 2
		ends[victim]()
		if err := os.RemoveAll(c.servers[victim]); err != nil {
			t.Fatal(err)
		}
		c.record(100*time.Millisecond, nil)
		ends[victim] = c.serve([]string{"a", "b"}[victim], c.servers[victim], store.OS{})
		c.record(0, func() bool { // all of what was released too
			for name, b := range c.written {
				if size(filepath.Join(c.stored(victim), name)) < int64(len(b))-256<<10 {
					return false
				}
			}
			return true
		})
		c.acknowledged(victim, false)
	}
	stop()
	c.check()
	left := files(t, c.dir)
	t.Logf("%d chunks, of which %d were on servers alone; they got nothing for %v at most", len(c.written), len(c.written)-len(left)+1, c.longest)
	if len(left) > len(c.written) {
		t.Error("nothing was released")
	}
}
