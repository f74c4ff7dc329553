//go:build unix

package record

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"meridian/format/ctf"
	"meridian/internal/testseed"
	"meridian/trace"
)

// sums are counts and digests of the events of each file of a trace, in their order.
type sums map[string][2]uint64

func (s sums) add(e *trace.Event, from interface {
	trace.Source
	Reader() *ctf.Reader
}) {
	name := filepath.Base(from.Reader().Stream().Path)
	at := s[name]
	mix := func(v uint64) { at[1] = (at[1] ^ v) * 0x100000001b3 }
	mix(uint64(e.Time))
	for _, c := range from.Classes()[e.Class].Name + from.Streams()[e.Stream].Name {
		mix(uint64(c))
	}
	for _, v := range from.Values() {
		mix(v.Bits)
		for _, c := range v.Data {
			mix(uint64(c))
		}
	}
	at[0]++
	s[name] = at
}

// following follows a trace, ever again as another Follower, until it has been told to end and nothing is left.
func following(t *testing.T, dir string, random *rand.Rand, end *atomic.Bool) (got sums, followers int, w *trace.Warnings) {
	got, w = sums{}, new(trace.Warnings)
	f := ctf.Follow(dir, w)
	for followers = 1; ; {
		last := end.Load()
		if _, err := f.Refresh(); err != nil {
			t.Error(err)
			break
		}
		left := 1 << 30
		if !last && random.IntN(4) == 0 {
			left = random.IntN(1000)
		}
		var e trace.Event
		for ; left > 0 && f.Next(&e) == nil; left-- {
			got.add(&e, f)
		}
		if last {
			break
		}
		if random.IntN(8) == 0 { // kill -9
			stored, err := json.Marshal(f.Position())
			var p ctf.Position
			if err == nil {
				err = json.Unmarshal(stored, &p)
			}
			if err != nil {
				t.Error(err)
			}
			f.Close()
			f = ctf.FollowFrom(dir, p, w)
			followers++
		}
		<-time.After(time.Duration(random.IntN(3000)) * time.Microsecond)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return got, followers, w
}

// Recorders are killed one after another, followers too: each event of the files is returned once, in order.
func TestFollowersReturnWhatKilledRecordersWrote(t *testing.T) {
	t.Parallel()
	seed := testseed.Seed(t)
	rings, root := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "0")
	var end atomic.Bool
	type result struct {
		got       sums
		followers int
		w         *trace.Warnings
	}
	results := make(chan result)
	go func() {
		got, followers, w := following(t, dir, rand.New(rand.NewPCG(seed, 4)), &end)
		results <- result{got, followers, w}
	}()
	defer end.Store(true)
	p := program(t, "victim", rings, "GOROUTINES=2", "BUFFERS=64")
	killRecorders(t, rand.New(rand.NewPCG(seed, 3)), rings, root, true)
	p.in.Close()
	p.emitted(t)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	untilEnded(t, Options{Dir: dir, Rings: []string{rings}}, 1)
	end.Store(true)
	r := <-results
	want := sums{}
	tr, err := ctf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Events()
	defer s.Close()
	var e trace.Event
	events := uint64(0)
	for s.Next(&e) == nil {
		want.add(&e, s)
		events++
	}
	for name, at := range want {
		if r.got[name] != at {
			t.Errorf("%s: followed %v, offline %v", name, r.got[name], at)
		}
	}
	if len(r.got) != len(want) || events == 0 {
		t.Errorf("events of %d files, offline of %d", len(r.got), len(want))
	}
	for _, line := range r.w.Lines() {
		if !strings.Contains(line, "not a whole packet") && !strings.Contains(line, "discarded") {
			t.Error(line)
		}
	}
	t.Log(events, "events,", r.followers, "followers")
}

// snapshot copies a directory as it is while it is written: each file up to where it ended when its copy began.
func snapshot(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o777); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	// The metadata last: it has the classes of all packets that were copied.
	put := func(name string) {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range names {
		if e.Type().IsRegular() && e.Name() != "metadata" && !strings.HasPrefix(e.Name(), ".") {
			put(e.Name())
		}
	}
	put("metadata")
}

// tornSizes watches the sizes of a trace's files of rings until it has seen so many, and returns how many of them are the end of no
// packet.
func tornSizes(t *testing.T, dir string, enough int) (seen, torn int) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, sensorFiles+"*"))
	sizes := map[string]map[int64]bool{}
	var files []*os.File
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sizes[path] = map[int64]bool{}
		files = append(files, f)
	}
	for end := time.Now().Add(time.Minute); seen < enough && time.Now().Before(end); {
		for i, f := range files {
			size, err := f.Seek(0, io.SeekEnd)
			if err != nil {
				t.Fatal(err)
			}
			if !sizes[paths[i]][size] {
				sizes[paths[i]][size] = true
				seen++
			}
		}
	}
	m, err := readMetadata(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		ends := map[int64]bool{0: true}
		head := make([]byte, packetFields)
		for at := (tail{}); ; {
			next, err := at.next(f, head, 1<<60, m.UUID)
			if err != nil || next.size == at.size {
				break
			}
			ends[next.size], at = true, next
		}
		for size := range sizes[paths[i]] {
			if !ends[size] {
				t.Errorf("%s was seen with %d bytes, which end within a packet", paths[i], size)
				torn++
			}
		}
	}
	return seen, torn
}

// A copy of the directory at any instant is a trace that babeltrace2 reads to its end, and so is what a killed recorder leaves: no
// packet is ever there in part.
func TestBabeltraceReadsTheTraceAtAnyInstant(t *testing.T) {
	rings, root := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "trace")
	p := program(t, "busy", rings, "GOROUTINES=2", "BUFFERS=64")
	r := started(t, "recorder", "RING="+rings, "DIR="+dir)
	for events := 0; events == 0; {
		if !r.lines.Scan() {
			t.Fatal("the recorder died by itself")
		}
		fmt.Sscanf(r.lines.Text(), "counted %d", &events)
	}
	go func() {
		for r.lines.Scan() {
		}
	}()
	before := 0
	readable := func(dir string) {
		t.Helper()
		eachTail(t, dir, func(tail) {})
		events := babeltraceWithLoss(t, dir) // a recorder that gets no processor loses some
		if events < before || events == 0 {
			t.Errorf("%d events in a copy, %d in the one before", events, before)
		}
		before = events
	}
	for i := range 4 {
		to := filepath.Join(root, fmt.Sprint(i))
		snapshot(t, dir, to)
		readable(to)
	}
	const enough = 100
	seen, torn := tornSizes(t, dir, enough)
	t.Logf("%d of %d sizes end within a packet", torn, seen)
	if seen < enough {
		t.Errorf("the files grew %d times in a minute", seen)
	}
	r.Process.Kill()
	r.Wait()
	readable(dir)
	p.end(t)
}

// A follower of a recording of which only the last part is kept returns what is left, nothing twice, and misses no more than was
// dropped.
func TestFollowersReturnWhatIsKept(t *testing.T) {
	t.Parallel()
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	p := program(t, "kept", rings, "GOROUTINES=2", "BUFFERS=64")
	var end atomic.Bool
	found := map[[2]int]int{}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f := ctf.Follow(dir, nil)
		defer f.Close()
		for last := false; !last; {
			last = end.Load()
			if _, err := f.Refresh(); err != nil {
				t.Error(err)
			}
			var e trace.Event
			for f.Next(&e) == nil {
				if f.Classes()[e.Class].Name == "test:number" {
					v := f.Values()
					found[[2]int{int(v[0].Int()), int(v[1].Int())}]++
				}
			}
			<-time.After(time.Millisecond)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	enough := sync.OnceFunc(func() { p.in.Close() })
	r, err := New(Options{Dir: dir, Rings: []string{rings}, Keep: Keep{Bytes: 1 << 20}, Interval: 10 * time.Millisecond, Counts: func(s Summary) {
		if s.Total.Events > 60000 {
			enough()
		}
		if len(s.Streams) > 0 && !slices.ContainsFunc(s.Streams, func(c Counts) bool { return c.Open }) {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	each := p.emitted(t)
	end.Store(true)
	<-over
	emitted := uint64(0)
	for g, n := range each {
		emitted += uint64(n)
		for i := range n {
			if times := found[[2]int{g, i}]; times > 1 {
				t.Fatalf("event %d of goroutine %d was returned %d times", i, g, times)
			}
		}
	}
	kept := map[[2]int]int{}
	numbers(read(t, dir), p.Process.Pid, kept)
	for at := range kept {
		if found[at] == 0 {
			t.Fatalf("event %v is kept and was not returned", at)
		}
	}
	if s.Dropped == nil || emitted-uint64(len(found)) > s.Dropped.Events+s.Total.Lost {
		t.Errorf("%d events of %d were returned, %+v were dropped, %d lost", len(found), emitted, s.Dropped, s.Total.Lost)
	}
	t.Log(emitted, "events,", len(found), "returned,", len(kept), "kept")
}
