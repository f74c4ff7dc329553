package collect_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"testing"
	"time"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/record"
	"meridian/internal/retention"
	"meridian/trace"
)

// bursts is a source of as many events as it is asked for.
type bursts struct {
	asked, done chan int
}

func (b *bursts) Name() string { return "bursts" }
func (b *bursts) Streams() []trace.Stream {
	return []trace.Stream{{Name: "a", Kind: trace.Device, Parent: -1}}
}
func (b *bursts) Classes() []trace.Class {
	return []trace.Class{{Name: "test:burst", Fields: []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int, Bits: 64}}, {Name: "text", Type: trace.Type{Kind: trace.Text}}}}}
}
func (b *bursts) Lost() []uint64 { return []uint64{0} }

func (b *bursts) Read(ctx context.Context, each func(*record.Event) error) error {
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case more := <-b.asked:
			for range more {
				n++
				if err := each(&record.Event{Stamp: uint64(clock.Monotonic.Now()), Values: []trace.Value{trace.OfInt(int64(n)), trace.OfText("of some length, so that chunks are full soon")}}); err != nil {
					return err
				}
			}
			b.done <- more
		}
	}
}

// recorded is a recorder that keeps the last MiB, an agent that comes and goes, and so does the server.
type recorded struct {
	*lab
	r           *rand.Rand
	dir, stored string
	source      *bursts
	events      int
	held        int64

	stopServer, stopRecorder func()
	stopAgent                func(killed bool)
}

func (c *recorded) emit(n int) {
	c.source.asked <- n
	c.events += <-c.source.done
}

// agent runs a shipper until the function that it returns ends it, or kills it: what it wrote of its account last may be of any instant.
func (c *recorded) agent() {
	ledger := filepath.Join(c.dir, ".sent")
	before, _ := os.ReadFile(ledger)
	s, err := ship.New(ship.Options{Conn: wire.Over(c.connectAs("web")), Host: "web", Session: "s", Dir: c.dir, Held: c.held, Log: c.t.Logf})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx)
		ended <- err
	}()
	c.stopAgent = func(killed bool) {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
		if killed && before != nil {
			if err := os.WriteFile(ledger, before, 0o666); err != nil {
				c.t.Fatal(err)
			}
		}
		c.stopAgent = nil
	}
}

// chunks returns how many bytes there are of the files that a recorder counts when it drops them, which it may do meanwhile.
func chunks(t *testing.T, dir string) (total int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "bursts_*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	return total
}

func TestWhatIsDroppedBeforeItIsAcknowledgedIsCounted(t *testing.T) {
	for seed := range uint64(max(*rounds/20, 1)) {
		for held, keep := range map[int64]record.Keep{1: {Bytes: record.MinKeepBytes}, 256 << 10: {Spool: record.MinKeepBytes, Release: true}} {
			seed := *firstSeed + seed
			t.Run(fmt.Sprintf("seed %d, %d held, %v", seed, held, keep), func(t *testing.T) {
				t.Parallel()
				testAccount(t, seed, held, keep)
			})
		}
	}
}

func newRecorded(t *testing.T, seed uint64, held int64, keep record.Keep) *recorded {
	t.Helper()
	c := &recorded{lab: newLab(t), r: rand.New(rand.NewPCG(seed, 12)), dir: filepath.Join(t.TempDir(), "trace"), stored: t.TempDir(), held: held,
		source: &bursts{make(chan int), make(chan int)}}
	r, err := record.New(record.Options{Dir: c.dir, Host: "web", Rings: []string{t.TempDir()}, Sources: []record.Source{c.source},
		Keep: keep, Flush: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		ended <- err
	}()
	c.stopRecorder = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func testAccount(t *testing.T, seed uint64, held int64, keep record.Keep) {
	c := newRecorded(t, seed, held, keep)
	c.stopServer = c.serve("a", c.stored, store.OS{})
	c.agent()
	c.emit(1000)
	for range 12 {
		switch {
		case c.r.IntN(2) == 0 && c.stopAgent != nil:
			c.stopAgent(c.r.IntN(2) == 0)
		case c.stopAgent == nil:
			c.agent()
		case c.stopServer != nil:
			c.stopServer()
			c.stopServer = nil
		default:
			c.stopServer = c.serve("a", c.stored, store.OS{})
		}
		for range c.r.IntN(4) {
			c.emit(c.r.IntN(10000))
			time.Sleep(time.Duration(c.r.IntN(30)) * time.Millisecond)
		}
	}
	c.emit(20000)
	c.stopRecorder()
	if c.stopAgent != nil {
		c.stopAgent(true)
	}
	if c.stopServer == nil {
		c.stopServer = c.serve("a", c.stored, store.OS{})
	}
	c.check(c.lab.ship(ship.Options{Host: "web", Session: "s", Dir: c.dir, Held: c.held}))
}

// check compares the account and what a reader of the server's directory finds with what was recorded.
func (c *recorded) check(sum ship.Summary) {
	t, stored := c.t, filepath.Join(c.stored, "s", "web")
	dropped, some, err := retention.Of(c.dir)
	if err != nil || !some {
		t.Fatalf("nothing was dropped: %v", err)
	}
	lost := int64(dropped.All.Bytes) + chunks(t, c.dir) - chunks(t, stored)
	t.Logf("%d events, %d bytes dropped, %d not stored: %+v", c.events, dropped.All.Bytes, lost, sum)
	// Of what tells of dropped chunks and of clocks some may be lost too: several files of 64 KiB where the agent was away for long.
	if sum.Lost < lost || sum.Lost > lost+512<<10 || sum.Acknowledged != sum.Recorded-sum.Lost {
		t.Errorf("%d bytes are lost, and are said to be %+v", lost, sum)
	}
	tr, err := ctf.Open(stored, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	found := 0
	for _, s := range tr.Streams {
		for r := s.Reader(); r.Next() == nil; {
			if class, _ := r.Class(); class.Name == "test:burst" {
				found++
			}
		}
	}
	missing, _, err := retention.Missing(stored)
	if err != nil || int(missing.All.Events) < c.events-found || int(missing.All.Bytes) < int(lost) {
		t.Errorf("of %d events %d are stored, and %d are said to be missing: %v", c.events, found, missing.All.Events, err)
	}
}

func TestWhatServersHaveIsReleasedAndNothingIsLost(t *testing.T) {
	t.Parallel()
	c := newRecorded(t, 1, 0, record.Keep{Release: true})
	c.stopServer = c.serve("a", c.stored, store.OS{})
	c.agent()
	for range 10 {
		c.emit(50000) // of 3 MB, less than a chunk
	}
	written := func() int64 { return chunks(t, c.dir) }
	for until := time.Now().Add(60 * time.Second); written() > 9<<20; {
		if time.Now().After(until) {
			t.Fatalf("%d bytes are still in the agent's directory", written())
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.stopRecorder()
	c.stopAgent(false)
	sum := c.lab.ship(ship.Options{Host: "web", Session: "s", Dir: c.dir})
	if sum.Lost != 0 || sum.Acknowledged != sum.Recorded || sum.Recorded < 16<<20 {
		t.Errorf("%+v", sum)
	}
	if _, some, err := retention.Missing(filepath.Join(c.stored, "s", "web")); some || err != nil {
		t.Errorf("the server's directory lacks something: %v", err)
	}
}

func TestWhatGrewAfterTheAccountWasWrittenIsNotLostWhereServersHaveIt(t *testing.T) {
	t.Parallel()
	c := newRecorded(t, 2, 0, record.Keep{Bytes: record.MinKeepBytes})
	c.stopServer = c.serve("a", c.stored, store.OS{})
	c.agent()
	had := int64(0)
	sent := func() { // until the recorder has written more, and the server has it
		for until := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if n := chunks(t, c.dir); n > had && chunks(t, filepath.Join(c.stored, "s", "web")) == n {
				had = n
				return
			} else if time.Now().After(until) {
				t.Fatal("the server does not get what is recorded")
			}
		}
	}
	c.emit(100) // a third of a chunk
	sent()
	c.stopAgent(false)
	before, err := os.ReadFile(filepath.Join(c.dir, ".sent"))
	if err != nil {
		t.Fatal(err)
	}
	c.agent()
	c.emit(100)
	sent()
	c.stopAgent(false)
	if err := os.WriteFile(filepath.Join(c.dir, ".sent"), before, 0o666); err != nil { // as if it had been killed
		t.Fatal(err)
	}
	c.emit(40000) // all that was there is dropped
	c.stopRecorder()
	sum := c.lab.ship(ship.Options{Host: "web", Session: "s", Dir: c.dir, Held: c.held})
	c.check(sum)
	dropped, _, err := retention.Of(c.dir)
	if want := int64(dropped.All.Bytes) + chunks(t, c.dir) - chunks(t, filepath.Join(c.stored, "s", "web")); err != nil || sum.Lost != want {
		t.Errorf("%d bytes are said to be lost, and %d are, %v", sum.Lost, want, err)
	}
}
