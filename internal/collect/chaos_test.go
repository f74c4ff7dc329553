package collect_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/disktest"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
	"meridian/internal/spool"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
)

// chaos is a recorder's directory, a shipper and servers, of which each is killed again and again.
type chaos struct {
	lab
	r       *rand.Rand
	dir     string
	w       *traceWriter
	address atomic.Pointer[string] // of the broker, another one each time it is started
	way     *valve                 // of the agent to the broker
	servers []*victim
	end     func() // of the shipper
	torn    map[string][]byte

	turns    map[int]int       // of the chunks of a stream
	released map[string][]byte // what servers had and the recorder has dropped
	fresh    uint64            // seed of the next new disk
	struck   []string
}

// victim is a server and its disk.
type victim struct {
	name string
	disk *disktest.Disk
	stop func()
}

func (c *chaos) startShipper(replicas int) {
	ctx, cancel := context.WithCancel(context.Background())
	conn := c.connectTo(c.way.url(), nats.CustomInboxPrefix(wire.OfHost("web", "inbox")))
	s, err := ship.New(ship.Options{Conn: wire.Over(conn), Host: "web", Session: "s", Dir: c.dir, Replicas: replicas, Chunk: 16 << 10, Window: 256 << 10})
	if err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx)
		ended <- err
	}()
	c.end = func() {
		cancel()
		if err := <-ended; err != nil && c.broker != nil {
			c.t.Error(err)
		}
		conn.Close()
		c.end = nil
	}
}

func (c *chaos) startBroker() {
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test", Limits: broker.Limits{Message: 64 << 10}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.broker = b
	address := b.URL()[len("nats://"):]
	c.address.Store(&address)
}

// record writes some packets, sometimes half of one as a recorder does that is killed.
func (c *chaos) record() {
	for range c.r.IntN(20) {
		stream := c.r.IntN(4)
		name := fmt.Sprintf("kernel_1_%d_%d", stream, c.turns[stream])
		if half := c.torn[name]; half != nil { // the next recorder cuts it off
			path := filepath.Join(c.dir, name)
			info, err := os.Stat(path)
			if err != nil {
				c.t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-int64(len(half))); err != nil {
				c.t.Fatal(err)
			}
			delete(c.torn, name)
		}
		p := c.w.packet(64 + 8*c.r.IntN(3000))
		if c.r.IntN(20) == 0 {
			p = p[:1+c.r.IntN(len(p)-1)]
			c.torn[name] = p
		}
		c.w.write(name, p)
		if c.torn[name] == nil && c.r.IntN(8) == 0 {
			c.turns[stream]++ // this chunk is complete
		}
	}
	if c.r.IntN(10) == 0 {
		c.w.longMetadata(c.r.Int(), c.r.IntN(200<<10)) // some have no room in a message
	}
}

// release drops complete chunks that servers have, as a recorder does with --release.
func (c *chaos) release() {
	account, err := spool.Read(c.dir)
	if err != nil {
		return // there is none yet
	}
	for name, part := range account.Files {
		var stream, turn int
		if _, err := fmt.Sscanf(name, "kernel_1_%d_%d", &stream, &turn); err != nil || turn == c.turns[stream] || c.torn[name] != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil || part.Acknowledged < int64(len(b)) {
			continue
		}
		c.released[name] = b
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// destroy puts a new disk into a server, unless another one lacks something of what it has or of what is released: of two replicas one may be lost at
// a time. What a server has may have been acknowledged to the agent, whose account tells it later.
func (c *chaos) destroy(v *victim) {
	lost := v.disk.Durable("servers/s/web")
	delete(lost, wire.Metadata) // the host has it
	for _, o := range c.servers {
		has := o.disk.Durable("servers/s/web")
		for name, b := range c.released {
			if !bytes.Equal(has[name], b) {
				return
			}
		}
		for name, b := range lost {
			if len(has[name]) < len(b) {
				return
			}
		}
	}
	v.stop()
	c.fresh++
	v.disk = disktest.New(c.fresh)
	v.stop = c.serve(v.name, "servers", v.disk)
}

// strike kills something and starts it again.
func (c *chaos) strike(replicas int) {
	v, what := c.servers[c.r.IntN(len(c.servers))], c.r.IntN(7)
	c.struck = append(c.struck, fmt.Sprint(what, " ", v.name))
	switch what {
	case 0:
		c.end()
		c.startShipper(replicas)
	case 1: // the server is killed: what it wrote is still in the system's memory
		v.stop()
		v.stop = c.serve(v.name, "servers", v.disk)
	case 2: // the power is cut
		next := v.disk.Cut()
		v.stop()
		v.disk = next
		v.stop = c.serve(v.name, "servers", v.disk)
	case 3:
		c.broker.Close()
		c.startBroker()
	case 4: // the disk is full for a while
		v.disk.Fill(true)
		time.Sleep(time.Duration(c.r.IntN(50)) * time.Millisecond)
		v.disk.Fill(false)
	case 5: // the disk is destroyed, where each server has everything
		if replicas == len(c.servers) && replicas > 1 {
			c.destroy(v)
		}
	case 6: // agent and broker are apart
		c.way.shut(time.Duration(c.r.Int64N(int64(*apart))))
	}
	c.release()
}

// expected is what servers have in the end: the directory, without halves of packets.
func (c *chaos) expected() map[string][]byte {
	want := files(c.t, c.dir)
	for name, half := range c.torn {
		want[name] = want[name][:len(want[name])-len(half)]
		if len(want[name]) == 0 {
			delete(want, name)
		}
	}
	maps.Copy(want, c.released)
	return want
}

func testChaos(t *testing.T, seed uint64, strikes, servers, replicas int) {
	c := &chaos{r: rand.New(rand.NewPCG(seed, 3)), dir: filepath.Join(t.TempDir(), "trace"), torn: map[string][]byte{},
		turns: map[int]int{}, released: map[string][]byte{}, fresh: seed + 1000}
	c.t = t
	c.startBroker()
	defer func() { c.broker.Close() }()
	c.w = newTrace(t, c.dir, seed)
	at := func() string { return *c.address.Load() }
	c.way, c.urls = newValve(t, at), newValve(t, at).url() // clients find the broker where it is now
	for i := range servers {
		v := &victim{name: fmt.Sprint("server", i), disk: disktest.New(seed + uint64(i))}
		v.stop = c.serve(v.name, "servers", v.disk)
		c.servers = append(c.servers, v)
	}
	c.startShipper(replicas)
	for range strikes {
		for range 1 + c.r.IntN(4) {
			c.record()
			time.Sleep(time.Duration(c.r.IntN(20)) * time.Millisecond)
		}
		c.strike(replicas)
	}
	c.end()
	want := c.expected()
	// What servers that were let go of have of an earlier time stays; as many as are wanted have all.
	ended := make(chan struct{})
	close(ended)
	conn := c.connectAs("web")
	s, err := ship.New(ship.Options{Conn: wire.Over(conn), Host: "web", Session: "s", Dir: c.dir, Replicas: replicas, Ended: ended, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // other rounds want the processors too
	defer cancel()
	sum, err := s.Run(ctx)
	if err != nil || ctx.Err() != nil {
		t.Fatalf("seed %d: %+v: %v, %v", seed, sum, err, ctx.Err())
	}
	t.Logf("%d chunks were released, %d disks were new", len(c.released), c.fresh-seed-1000)
	if sum.Lost != 0 {
		t.Errorf("seed %d: %+v", seed, sum)
	}
	whole := 0
	for _, v := range c.servers {
		v.stop()
		got := v.disk.Cut().Content("servers/s/web") // acknowledged is what is there after another cut
		if equal(want, got) {
			whole++
		} else if text := differing(want, got); replicas == servers {
			t.Errorf("seed %d: %s: %s; struck: %v", seed, v.name, text, c.struck)
		} else {
			t.Logf("%s differs: %s", v.name, text)
		}
	}
	if whole < replicas {
		t.Errorf("seed %d: %d servers have everything, %d are wanted", seed, whole, replicas)
	}
}

func equal(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for name, content := range a {
		if other, ok := b[name]; !ok || !bytes.Equal(content, other) {
			return false
		}
	}
	return true
}

// differing says where files are not those that are wanted.
func differing(want, got map[string][]byte) string {
	var text strings.Builder
	for name, a := range want {
		b, there := got[name]
		if bytes.Equal(a, b) && there {
			continue
		}
		first := 0
		for first < min(len(a), len(b)) && a[first] == b[first] {
			first++
		}
		last := min(len(a), len(b))
		for last > first && a[last-1] == b[last-1] {
			last--
		}
		fmt.Fprintf(&text, "%s has %d bytes of %d, others from %d to %d; ", name, len(b), len(a), first, last)
	}
	for name := range got {
		if _, there := want[name]; !there {
			fmt.Fprintf(&text, "%s is not wanted; ", name)
		}
	}
	return text.String()
}

func sizes(files map[string][]byte) map[string]int {
	out := map[string]int{}
	for name, content := range files {
		out[name] = len(content)
	}
	return out
}

var apart = flag.Duration("apart", 100*time.Millisecond, "for how long agent and broker may be apart in chaos")

var rounds, firstSeed = flag.Int("rounds", 20, "rounds of chaos"), flag.Uint64("seed", testseed.First(100), "of the first round of chaos")

func TestWhateverIsKilledAllArrivesAndWhatIsAcknowledgedStays(t *testing.T) {
	var all errgroup.Group
	all.SetLimit(16) // a round mostly waits
	for round := range uint64(testneed.Cases(*rounds)) {
		for _, n := range [][2]int{{1, 1}, {2, 2}, {3, 2}} {
			if n[0] == 3 && *rounds <= 20 && round%4 != 0 {
				continue // the longest
			}
			all.Go(func() error {
				t.Run(fmt.Sprintf("seed %d, %d of %d servers", *firstSeed+round, n[1], n[0]), func(t *testing.T) {
					testChaos(t, *firstSeed+round, 10, n[0], n[1])
				})
				return nil
			})
		}
	}
	_ = all.Wait() // subtests fail, it does not
}
