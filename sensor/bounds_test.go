package sensor

import (
	"runtime"
	"strings"
	"testing"

	"meridian/sensor/internal/testtrace"
	"meridian/sensor/ring"
)

var (
	testLong = NewStruct("test", "long", FieldOf[string]("text"))
	testPart = NewSlice("test", "part")
)

func TestAStructLargerThanAnEventMayBeIsDiscardedAndCounted(t *testing.T) {
	dir := record(t, Options{BufferSize: 1 << 17}, func() {
		for _, n := range []int{100, ring.MaxSize - ring.HeadSize + 1, 1 << 16, ring.MaxSize - ring.HeadSize, 100} {
			text := strings.Repeat("x", n-1)
			if w, at := testLong.Begin(Size(text)); w.Writing() {
				PutLong(at, text)
				w.End()
			}
		}
	})
	var sizes []int
	for _, e := range testtrace.ReadLossy(t, dir).Events.Named("test:long") {
		sizes = append(sizes, len(e.Values[0].(string)))
	}
	if len(sizes) != 3 || sizes[0] != 99 || sizes[1] != ring.MaxSize-ring.HeadSize-1 || sizes[2] != 99 {
		t.Errorf("events of %d bytes of text", sizes)
	}
	if n := testtrace.ReadLossy(t, dir).Discarded; n != 2 {
		t.Errorf("%d events counted as discarded, and two were too large", n)
	}
}

func TestProcessorsBeyondTheShardsShareNone(t *testing.T) {
	if shardOf(maxShards) != nil || shardOf(maxShards+1) != nil {
		t.Error("two processors have one shard")
	}
	record(t, Options{}, func() {
		r := running.Load()
		for i := range maxShards + 2 {
			if s := r.open(i); (s != nil) != (i < r.ring.Shards()) {
				t.Fatalf("processor %d: %v", i, s)
			}
		}
		if shardOf(maxShards) != nil || shardOf(maxShards+1) != nil {
			t.Error("two processors have one shard")
		}
	})
}

func TestASliceOfAnEarlierRecordingHasANumberOfItsOwn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	seen := map[uint64]bool{}
	for range 3 {
		record(t, Options{}, func() {
			for range 10 {
				id := testPart.Begin().ID()
				if id == 0 || seen[id] {
					t.Fatalf("number %d", id)
				}
				seen[id] = true
			}
		})
	}
}
