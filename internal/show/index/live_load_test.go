package index_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/trace"
)

var liveEvents = flag.Int("live-events", 1_200_000, "how many events TestLiveNeedsBoundedMemory writes, and BenchmarkLiveTile has")

// following writes to a live index as the owner of one does: seals in the background, merges in the background, and
// publishes views.
type following struct {
	index   *index.Live
	work    sync.WaitGroup
	mu      sync.Mutex
	failure error
	n       int64
	each    func(n int64)
	every   int64
}

func (f *following) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = errors.Join(f.failure, err)
}

func (f *following) Write(r *trace.TimelineEvent) error {
	if err := f.index.Write(r); err != nil {
		return err
	}
	if f.n++; f.n%f.every == 0 {
		f.each(f.n)
	}
	if !f.index.Due() {
		return nil
	}
	finish, err := f.index.Freeze(nil)
	if err != nil {
		return err
	}
	f.work.Go(func() {
		f.failed(finish())
		for more := true; more; {
			var err error
			more, err = f.index.Compact()
			f.failed(err)
		}
	})
	return nil
}

func (f *following) Close() error {
	f.work.Wait()
	return f.failure
}

func newFollowing(t testing.TB, l *trace.Schema, every int64, each func(l *index.Live, n int64)) *following {
	x, err := index.NewLive(t.TempDir(), l, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return &following{index: x, every: every, each: func(n int64) { each(x, n) }}
}

// TestLiveNeedsBoundedMemory writes many events and compares what is in memory behind the first half with what is in the end.
func TestLiveNeedsBoundedMemory(t *testing.T) {
	o := load.Options{Events: *liveEvents, Hosts: 8, Messages: *liveEvents / 10}
	var used []uint64
	f := newFollowing(t, load.Schema(o), int64(*liveEvents/24), func(l *index.Live, n int64) {
		v := l.View()
		v.About()
		v.Close()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		used = append(used, m.HeapAlloc)
	})
	begun := time.Now()
	if err := load.Write(o, load.Schema(o), f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, open := f.index.Events(); n != int64(o.Events) || open > 1<<19 {
		t.Errorf("%d events of %d, %d not sealed", n, o.Events, open)
	}
	first, last := slices.Max(used[:12]), slices.Max(used[12:])
	t.Logf("%.2f million events/s; at most %d MiB in the first half, %d MiB in the second", float64(o.Events)/time.Since(begun).Seconds()/1e6, first>>20, last>>20)
	const tail = 16 << 20 // one more tail in memory, while the one before is sealed and merged
	if last > first+first/4+tail {
		t.Errorf("%d MiB in the second half, %d MiB in the first", last>>20, first>>20)
	}
}

// TestViewsAreReadWhileTheIndexGrows reads from several goroutines while events are written, sealed and merged.
func TestViewsAreReadWhileTheIndexGrows(t *testing.T) {
	o := load.Options{Events: 120_000, Hosts: 3, Messages: 10_000}
	var readers sync.WaitGroup
	x := newFollowing(t, load.Schema(o), 5000, func(l *index.Live, n int64) {
		if n%15_000 == 0 {
			finish, err := l.Freeze(nil)
			if err != nil {
				t.Error(err)
				return
			}
			readers.Go(func() {
				if err := finish(); err != nil {
					t.Error(err)
				}
				if _, err := l.Compact(); err != nil {
					t.Error(err)
				}
			})
		}
		v := l.View()
		readers.Go(func() {
			defer v.Close()
			a := v.About()
			if a.Events != n {
				t.Errorf("a view of %d events has %d", n, a.Events)
			}
			for group := range len(a.Hosts) + 1 {
				if _, err := v.Tile(group, a.Top, 0); err != nil {
					t.Error(err)
				}
			}
			if list, err := v.Events(n-100, 100); err != nil || len(list) != 100 {
				t.Errorf("%d events before %d: %v", len(list), n, err)
			}
			if _, err := v.Search("name=nothing", -1, 10); err != nil {
				t.Error(err)
			}
		})
	})
	if err := load.Write(o, load.Schema(o), x); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkLiveTile asks for tiles of many events, while 10,000 more come in each second.
func BenchmarkLiveTile(b *testing.B) {
	o := load.Options{Events: *liveEvents + *liveEvents/4, Hosts: 8, Messages: *liveEvents / 8}
	var now atomic.Pointer[index.View]
	var over atomic.Bool
	var looking time.Duration
	looks := 0
	f := newFollowing(b, load.Schema(o), 1000, func(l *index.Live, n int64) {
		if n < int64(*liveEvents) || over.Load() {
			return
		}
		begun := time.Now()
		now.Store(l.View())
		looking += time.Since(begun)
		looks++
		time.Sleep(100 * time.Millisecond)
	})
	done := make(chan error, 1)
	go func() { done <- load.Write(o, load.Schema(o), f) }()
	for now.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var took []time.Duration
	for b.Loop() {
		v := now.Load()
		hosts, top := v.Reach()
		level := r.IntN(top + 1)
		begun := time.Now()
		if _, err := v.Tile(r.IntN(hosts+1), level, r.Int64N(v.Growth(0).Span>>(level+10)+1)); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	over.Store(true)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "ns-median")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "ns-p99")
	b.ReportMetric(float64(looking.Nanoseconds())/float64(looks), "ns-view")
}
