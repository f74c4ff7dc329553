package collect_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"meridian/internal/collect"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// releasing is a trace of which a part was removed when servers had it, and the agent that sends it.
type releasing struct {
	*lab
	w       *traceWriter
	dir     string
	o       ship.Options
	packets int

	mu     sync.Mutex
	status wire.AgentStatus
	stop   func() ship.Summary
}

const releasedBytes = 3 * 4096

func newReleasing(t *testing.T, replicas int) *releasing {
	c := &releasing{lab: newLab(t), dir: filepath.Join(t.TempDir(), "trace")}
	c.w = newTrace(t, c.dir, 1)
	c.o = ship.Options{Host: "web", Session: "s", Dir: c.dir, Replicas: replicas, Log: t.Logf, Tell: func(x *wire.AgentStatus) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.status = *x
	}}
	return c
}

func (c *releasing) begin() {
	c.t.Helper()
	o := c.o
	o.Conn = wire.Over(c.connectAs("web"))
	s, err := ship.New(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.stop = runs(c.t, s)
	c.t.Cleanup(func() {
		if c.stop != nil {
			c.stop()
		}
	})
}

func (c *releasing) end() ship.Summary {
	defer func() { c.stop = nil }()
	return c.stop()
}

// grow has the agent send something, by which it notices what became of servers.
func (c *releasing) grow() {
	c.packets++
	c.w.write("kernel_2_0", c.w.packet(4096))
}

// await waits for a state of the agent.
func (c *releasing) await(what string, is func(wire.AgentStatus) bool) {
	c.t.Helper()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		x := c.status
		c.mu.Unlock()
		if is(x) {
			return
		} else if time.Now().After(until) {
			c.t.Fatalf("%s: %+v", what, x)
		}
	}
}

// whole has servers acknowledge everything.
func (c *releasing) whole() {
	c.t.Helper()
	c.grow()
	want := int64(c.packets)*4096 + releasedBytes
	c.await(fmt.Sprintf("%d bytes are to be acknowledged", want), func(x wire.AgentStatus) bool { return x.Acknowledged == want && x.Recorded == want && x.Lost == 0 })
}

// release writes two files and removes them when servers have them.
func (c *releasing) release() {
	c.t.Helper()
	c.w.write("kernel_1_0", c.w.packet(4096))
	c.w.write("kernel_1_1", c.w.packet(8192))
	c.whole()
	for _, name := range []string{"kernel_1_0", "kernel_1_1"} {
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil {
			c.t.Fatal(err)
		}
	}
	c.whole()
}

func lost(want int64) func(wire.AgentStatus) bool {
	return func(x wire.AgentStatus) bool { return x.Lost == want && x.Acknowledged == x.Recorded-want }
}

func TestWhatAServerLosesThatWasReleasedIsLost(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("agent started again ", again), func(t *testing.T) {
			t.Parallel()
			c := newReleasing(t, 1)
			disk := t.TempDir()
			stop := c.serve("a", disk, store.OS{})
			c.begin()
			c.release()
			if again {
				c.end()
			}
			stop()
			if err := os.RemoveAll(filepath.Join(disk, "s")); err != nil {
				t.Fatal(err)
			}
			c.serve("a", disk, store.OS{})
			if again {
				c.begin()
			}
			c.grow()
			c.await("what the server has lost is lost", lost(releasedBytes))
			sum := c.end()
			if sum.Lost != releasedBytes || sum.Away != 0 || sum.LostPackets != 2 {
				t.Errorf("%+v", sum)
			}
			same(t, c.dir, filepath.Join(disk, "s", "web"))
		})
	}
}

func TestWhatIsRemovedUnderAServerThatRunsIsSentAgainOrLost(t *testing.T) {
	t.Parallel()
	c := newReleasing(t, 1)
	disk := t.TempDir()
	c.serve("a", disk, store.OS{})
	c.begin()
	c.release()
	if err := os.RemoveAll(filepath.Join(disk, "s")); err != nil {
		t.Fatal(err)
	}
	c.grow()
	c.await("what the server has no more is lost", lost(releasedBytes))
	c.end()
	same(t, c.dir, filepath.Join(disk, "s", "web"))
}

func TestWhatIsInTheArchiveIsNotLostWithTheServersDirectory(t *testing.T) {
	t.Parallel()
	c := newReleasing(t, 1)
	disk := t.TempDir()
	stop := c.serve("a", disk, store.OS{})
	c.begin()
	c.release()
	c.end()
	stop()
	if err := os.RemoveAll(filepath.Join(disk, "s")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	archived, asked := map[string]int64{"kernel_1_0": 4096, "kernel_1_1": 5000}, 0
	c.serveArchived("a", disk, func(_ context.Context, session, host, trace string) (map[string]int64, error) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 1 {
			return nil, fmt.Errorf("the object store is away")
		}
		if session != "s" || host != "web" || trace != uuid {
			return nil, fmt.Errorf("asked for %s of %s, %s", session, host, trace)
		}
		return archived, nil
	})
	c.begin()
	c.grow()
	// Of kernel_1_1 the archive has 5000 bytes, and they count as acknowledged nowhere else.
	c.await("what the archive lacks is lost", func(x wire.AgentStatus) bool { return x.Lost == 8192-5000 })
	c.end()
	mu.Lock()
	archived["kernel_1_1"] = 8192
	mu.Unlock()
	c.begin()
	c.whole()
	if sum := c.end(); sum.Lost != 0 || sum.Away != 0 || sum.Acknowledged != sum.Recorded {
		t.Errorf("%+v", sum)
	}
}

// serveArchived runs a server with an archive until the test ends.
func (l *lab) serveArchived(name, dir string, has func(ctx context.Context, session, host, trace string) (map[string]int64, error)) {
	l.t.Helper()
	s, err := store.New(dir, store.OS{}, store.Limits{})
	if err != nil {
		l.t.Fatal(err)
	}
	server, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(l.connect()), Name: name, Store: s, Archived: has, Log: l.t.Logf})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	l.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
		_ = s.Close()
	})
}

func TestWhatAnotherServerHasIsNotLostWithOne(t *testing.T) {
	t.Parallel()
	c := newReleasing(t, 2)
	disk, other := t.TempDir(), t.TempDir()
	stop := c.serve("a", disk, store.OS{})
	c.serve("b", other, store.OS{})
	c.begin()
	c.release()
	stop()
	if err := os.RemoveAll(filepath.Join(disk, "s")); err != nil {
		t.Fatal(err)
	}
	c.serve("a", disk, store.OS{})
	c.whole()
	if sum := c.end(); sum.Lost != 0 || sum.Away != 0 {
		t.Errorf("%+v", sum)
	}
	same(t, filepath.Join(other, "s", "web"), filepath.Join(disk, "s", "web"))
}

func TestWhatAServerHadThatIsAwayIsNeitherLostNorAcknowledged(t *testing.T) {
	t.Parallel()
	c := newReleasing(t, 1)
	disk := t.TempDir()
	stop := c.serve("a", disk, store.OS{})
	c.begin()
	c.release()
	c.end()
	stop()
	stop = c.serve("b", t.TempDir(), store.OS{})
	defer stop()
	c.begin()
	c.grow()
	c.await("it waits for the server that has it", func(x wire.AgentStatus) bool {
		return x.Lost == 0 && x.Recorded == int64(c.packets)*4096+releasedBytes && x.Acknowledged == x.Recorded-releasedBytes
	})
	c.serve("a", disk, store.OS{})
	c.whole()
	if sum := c.end(); sum.Lost != 0 || sum.Away != 0 {
		t.Errorf("%+v", sum)
	}
}

func TestAnAgentIsNotDoneWhileItCannotReadItsDirectory(t *testing.T) {
	t.Parallel()
	c := newReleasing(t, 1)
	c.serve("a", t.TempDir(), store.OS{})
	c.grow()
	o, ended := c.o, make(chan struct{})
	o.Conn, o.Ended = wire.Over(c.connectAs("web")), ended
	s, err := ship.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx)
		done <- err
	}()
	c.await("what can be read is sent", func(x wire.AgentStatus) bool { return x.Acknowledged == 4096 })
	packets := filepath.Join(c.dir, "packets")
	if err := os.Remove(packets); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packets, nil, 0o600); err != nil { // which cannot be listed
		t.Fatal(err)
	}
	close(ended)
	c.await("the recording has ended", func(x wire.AgentStatus) bool { return x.Ended })
	cancel()
	if err := <-done; err == nil {
		t.Error("no error, though a file could not be read")
	}
}
