//go:build unix

package record

import (
	"context"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// fakeKernel is a source of two processors, which learns of a class late and loses three events of the second one.
type fakeKernel struct {
	cpus  bool
	from  uint64
	lost  atomic.Uint64
	later atomic.Bool
	err   error
}

const kernelEvents = 5000

func (k *fakeKernel) Name() string { return "kernel" }

func (k *fakeKernel) Streams() []trace.Stream {
	kind := trace.Device
	if k.cpus {
		kind = trace.CPU
	}
	return []trace.Stream{{Name: "zero", Kind: kind, ID: 0, Parent: -1}, {Name: "one", Kind: kind, ID: 1, Parent: -1}}
}

func (k *fakeKernel) Classes() []trace.Class {
	classes := []trace.Class{{Name: "sched_switch", Category: "sched", Fields: []trace.Field{
		{Name: "prev_comm", Type: trace.Type{Kind: trace.Text}}, {Name: "prev_tid", Type: trace.Type{Kind: trace.Int, Bits: 32}},
	}}}
	if k.later.Load() {
		classes = append(classes, trace.Class{Name: "net_dev_queue", Fields: []trace.Field{
			{Name: "skbaddr", Type: trace.Type{Kind: trace.Uint, Base: 16}},
			{Name: "network_header", Type: trace.Type{Kind: trace.Variant, Fields: []trace.Field{
				{Name: "unknown", Type: trace.Type{Kind: trace.Struct}},
				{Name: "ipv4", Type: trace.Type{Kind: trace.Struct, Fields: []trace.Field{
					{Name: "saddr", Type: trace.Type{Kind: trace.Array, Length: 4, Elem: &trace.Type{Kind: trace.Uint, Bits: 8}}},
					{Name: "tot_len", Type: trace.Type{Kind: trace.Uint, Bits: 16}},
				}}},
			}}},
			{Name: "data", Type: trace.Type{Kind: trace.Bytes}},
		}})
	}
	return classes
}

func (k *fakeKernel) Lost() []uint64 { return []uint64{0, k.lost.Load()} }

func (k *fakeKernel) Faults() []kernel.Fault {
	return kernel.Happened(kernel.Fault{Kind: "two of the three"}, kernel.Fault{Kind: kernel.NotFollowed, Count: int64(k.lost.Load()) - 1})
}

func (k *fakeKernel) Read(ctx context.Context, each func(*Event) error) error {
	var e Event
	for i := range kernelEvents {
		e.Stamp, e.Stream, e.Class = k.from+uint64(i)*10, i%2, 0
		e.Values = append(e.Values[:0], trace.OfText("swapper"), trace.OfInt(int64(-i)))
		if i >= kernelEvents/2 && i%5 == 0 {
			k.later.Store(true)
			var address trace.Value
			address.Kind = trace.Array
			for part := range 4 {
				address.Items = append(address.Items, trace.OfUint(uint64(part+i)&0xff))
			}
			e.Class = 1
			e.Values = append(e.Values[:0], trace.OfUint(uint64(i)),
				trace.Value{Kind: trace.Variant, Bits: 1, Items: []trace.Value{{Kind: trace.Struct, Items: []trace.Value{address, trace.OfUint(uint64(i))}}}},
				trace.OfBytes([]byte{1, 2, 3}[:i%4]))
		}
		if err := each(&e); err != nil {
			return err
		}
	}
	k.lost.Store(3)
	if k.err != nil {
		return k.err
	}
	<-ctx.Done()
	return nil
}

func TestEventsOfSourcesAreReadAsTheyWereGiven(t *testing.T) {
	for _, cpus := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "trace")
		now := clock.Take(clock.Monotonic)
		k := &fakeKernel{cpus: cpus, from: uint64(now.Monotonic.Ns)}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r, err := New(Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{k}, Interval: time.Millisecond, Counts: func(s Summary) {
			if s.Total.Events == kernelEvents && k.lost.Load() > 0 {
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
		if s.Total.Events != kernelEvents || s.Total.Lost != 3 || len(s.Streams) != 2 || s.Streams[1].Lost != 3 {
			t.Errorf("%+v", s)
		}
		if want := []kernel.Fault{{Kind: kernel.NotFollowed, Count: 2}}; !slices.Equal(s.Faults, want) {
			t.Errorf("%v, want %v", s.Faults, want)
		}
		all := read(t, dir)
		i := 0
		for _, e := range all {
			if e.row.Name == "clocks" {
				continue
			}
			want, names := k.Streams()[i%2], map[bool]string{true: "net_dev_queue", false: "sched_switch"}
			queue := i >= kernelEvents/2 && i%5 == 0
			if e.class.Name != names[queue] || e.row.Kind != want.Kind || e.row.ID != want.ID {
				t.Fatalf("event %d: %s in row %+v", i, e.class.Name, e.row)
			}
			off := e.Time - clock.HostTime(now.Realtime.Ns-int64(now.Realtime.Counter)+int64(k.from)+int64(i)*10)
			if off < -clock.HostTime(time.Second) || off > clock.HostTime(time.Second) {
				t.Fatalf("event %d is off by %v", i, time.Duration(off))
			}
			if !queue {
				if string(e.values[0].Data) != "swapper" || e.values[1].Int() != int64(-i) || e.class.Category != "sched" {
					t.Fatalf("event %d: %v", i, e.values)
				}
			} else if v := e.values; v[0].Uint() != uint64(i) || v[1].Kind != trace.Variant || v[1].Bits != 1 ||
				v[1].Items[0].Items[0].Items[3].Uint() != uint64(3+i)&0xff || v[1].Items[0].Items[1].Uint() != uint64(i) || len(v[2].Data) != i%4 {
				t.Fatalf("event %d: %v", i, v)
			}
			i++
		}
		if i != kernelEvents {
			t.Errorf("%d events of %d", i, kernelEvents)
		}
		if n := babeltraceWithLoss(t, dir); n != len(all) {
			t.Errorf("babeltrace2 prints %d events of %d", n, len(all))
		}
	}
}
