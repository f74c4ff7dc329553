package collect_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// A server that an earlier agent had store the host has what went since, and may get what the next one sends to all servers.
func TestEachServerThatHasFilesGetsTheMetadataWhereAnAgentGoesOnWithAnother(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name              string
		released, listens bool
	}{{"nothing went, it listens", false, true}, {"files went, it listens", true, true}, {"files went, it listens no more", true, false}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := newReleasing(t, 1)
			first, second := t.TempDir(), t.TempDir()
			stop := c.serve("first", first, store.OS{})
			c.begin()
			if x.released {
				c.release()
			} else {
				c.grow()
				c.await("all is acknowledged", func(s wire.AgentStatus) bool { return s.Recorded == 4096 && s.Acknowledged == 4096 })
			}
			c.end()
			stop()
			c.serve("second", second, store.OS{})
			ended := make(chan struct{})
			c.o.Ended = ended
			end := c.runsToItsEnd()
			c.await("it goes on with the other", func(s wire.AgentStatus) bool { return slices.Equal(s.Servers, []string{"second"}) })
			c.serve("first", first, store.OS{})
			if x.listens {
				c.store("first")
			}
			c.w.longMetadata(1, 4000)
			c.w.write("kernel_3_0", c.w.packet(4096))
			c.await("all is acknowledged", func(s wire.AgentStatus) bool { return s.Recorded > 4096 && s.Acknowledged == s.Recorded })
			if x.listens {
				c.awaitFile(filepath.Join(first, "s", "web", "kernel_3_0"))
			}
			close(ended)
			if sum := end(); sum.Acknowledged != sum.Recorded || sum.Lost != 0 || sum.Away != 0 {
				t.Errorf("%+v", sum)
			}
			want, err := os.ReadFile(filepath.Join(c.dir, wire.Metadata))
			if err != nil {
				t.Fatal(err)
			}
			for _, disk := range []string{first, second} {
				if got, err := os.ReadFile(filepath.Join(disk, "s", "web", wire.Metadata)); err != nil || string(got) != string(want) {
					t.Errorf("%d bytes of metadata, not the %d of the host: %v", len(got), len(want), err)
				}
			}
		})
	}
}

// runsToItsEnd runs an agent until it has done all. The returned function waits for that.
func (c *releasing) runsToItsEnd() (end func() ship.Summary) {
	c.t.Helper()
	o := c.o
	o.Conn = wire.Over(c.connectAs("web"))
	s, err := ship.New(o)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	c.t.Cleanup(cancel)
	sum, ended := ship.Summary{}, make(chan struct{})
	go func() {
		defer close(ended)
		if sum, err = s.Run(ctx); err == nil {
			err = ctx.Err()
		}
	}()
	c.t.Cleanup(func() { cancel(); <-ended })
	return func() ship.Summary {
		<-ended
		if err != nil {
			c.t.Error(err)
		}
		return sum
	}
}

// store has a server store the host, as an earlier agent had.
func (c *releasing) store(server string) {
	c.t.Helper()
	conn := c.connectAs("web")
	request := wire.Encode(wire.Open{Version: wire.Version, Session: "s", Trace: uuid})
	for until := time.Now().Add(time.Minute); ; {
		m, err := conn.Request(wire.OfHostServer("web", "open", server), request, 10*time.Second)
		if err == nil && len(m.Data) > 0 {
			return
		} else if time.Now().After(until) {
			c.t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *releasing) awaitFile(path string) {
	c.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		} else if time.Now().After(until) {
			c.t.Fatal(err)
		}
	}
}
