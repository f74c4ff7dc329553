package sensor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"meridian/sensor/internal/testtrace"
)

var testChecked = NewEvent4[int64, string, int64, int64]("test", "checked", "writer", "text", "n", "again")

// TestMoreProcessorsThanCoresTearNoEvent has goroutines that lose their cores within events, while the ring is emptied.
func TestMoreProcessorsThanCoresTearNoEvent(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	const writers, each = 16, 2000
	dir := record(t, Options{Buffers: 2, BufferSize: 4096}, func() {
		inGoroutines(writers, each, func(w, n int64) { testChecked.Emit(w, "0123456789"[:n%10], n, n) })
	})
	seen := map[[2]int64]bool{}
	events := testtrace.ReadLossy(t, dir).Events
	kept := events.Named("test:checked")
	for _, e := range kept {
		w, n := e.Int(0), e.Int(2)
		if w < 0 || w >= writers || n < 0 || n >= each || e.Int(3) != n || e.Values[1].(string) != "0123456789"[:n%10] {
			t.Fatalf("torn: %v", e.Values)
		}
		if seen[[2]int64{w, n}] {
			t.Fatalf("twice: %v", e.Values)
		}
		seen[[2]int64{w, n}] = true
	}
	if missing := writers*each - len(kept); missing > testtrace.ReadLossy(t, dir).Discarded || testtrace.ReadLossy(t, dir).Discarded > missing+16 {
		t.Errorf("%d events missing, %d counted as discarded", missing, testtrace.ReadLossy(t, dir).Discarded)
	}
}

func TestEventsMayComeWhileRecordingStartsAndStops(t *testing.T) {
	var all sync.WaitGroup
	var over atomic.Bool
	for w := range int64(4) {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := int64(0); !over.Load(); n++ {
				testChecked.Emit(w, "text", n, n)
				testSlice.Begin().End()
			}
		}()
	}
	rounds := 5
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		rings := t.TempDir()
		dir := filepath.Join(t.TempDir(), "trace")
		stop, err := Record(dir, Options{Dir: rings, Buffers: 2, BufferSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(rings); err != nil || len(left) > 0 {
			t.Errorf("%v %v", left, err)
		}
		for _, e := range testtrace.ReadLossy(t, dir).Events.Named("test:checked") {
			if e.Int(2) != e.Int(3) || !strings.HasPrefix("text", e.Values[1].(string)) {
				t.Fatalf("torn: %v", e.Values)
			}
		}
	}
	over.Store(true)
	all.Wait()
}
