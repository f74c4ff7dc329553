package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"meridian/internal/eventtest"
	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/trace"
)

// recording holds records, so that only the index is measured.
type recording struct{ records []trace.TimelineEvent }

func (k *recording) Write(r *trace.TimelineEvent) error {
	c := *r
	c.Values = append([]trace.Value{}, r.Values...)
	k.records = append(k.records, c)
	return nil
}
func (k *recording) Close() error { return nil }

func BenchmarkBuild(b *testing.B) {
	o := load.Options{Events: 500_000, Hosts: 8, Messages: 50_000}
	l := load.Schema(o)
	k := &recording{}
	if err := load.Write(o, l, k); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		x := build(b, l, k)
		x.Close()
	}
	b.ReportMetric(float64(o.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// replay gives records to an index a million at a time, and runs the benchmark's timer only meanwhile, so that making them does not
// count. What the index's goroutines still have to do then they do beside the making: a few batches of each million.
type replay struct {
	b       *testing.B
	to      trace.Sink
	records []trace.TimelineEvent
	values  []trace.Value
}

func (p *replay) Write(r *trace.TimelineEvent) error {
	c := *r
	n := len(p.values)
	p.values = append(p.values, r.Values...)
	c.Values = p.values[n:len(p.values):len(p.values)]
	if p.records = append(p.records, c); len(p.records) < cap(p.records) {
		return nil
	}
	return p.flush()
}

func (p *replay) flush() error {
	p.b.StartTimer()
	defer p.b.StopTimer()
	for i := range p.records {
		if err := p.to.Write(&p.records[i]); err != nil {
			return err
		}
	}
	p.records, p.values = p.records[:0], p.values[:0]
	return nil
}

func (p *replay) Close() error {
	err := p.flush()
	p.b.StartTimer()
	return errors.Join(err, p.to.Close())
}

func BenchmarkBuildOfTenMillionEvents(b *testing.B) {
	o := load.Options{Events: 10_000_000, Hosts: 8, Messages: 1_000_000}
	l := load.Schema(o)
	p := &replay{b: b, records: make([]trace.TimelineEvent, 0, 1_000_000), values: make([]trace.Value, 0, 4_000_000)}
	for b.Loop() {
		n, err := index.NewBuilder(l, index.Options{})
		if err != nil {
			b.Fatal(err)
		}
		p.to = n
		b.StopTimer()
		if err := load.Write(o, l, p); err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
		x, err := n.Index()
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
	b.ReportMetric(float64(o.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func build(b *testing.B, l *trace.Schema, k *recording) *index.Index {
	n, err := index.NewBuilder(l, index.Options{})
	eventtest.Write(b, n, err, k.records)
	x, err := n.Index()
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// large is an index of a million events.
func large(b *testing.B) *index.Index {
	o := load.Options{Events: 1_000_000, Hosts: 8, Messages: 100_000}
	l := load.Schema(o)
	k := &recording{}
	if err := load.Write(o, l, k); err != nil {
		b.Fatal(err)
	}
	x := build(b, l, k)
	b.Cleanup(func() { x.Close() })
	return x
}

func BenchmarkTile(b *testing.B) {
	x := large(b)
	a := x.About()
	for level := a.Top; level >= 8; level -= 2 {
		for _, group := range []int{0, len(a.Hosts)} {
			b.Run(fmt.Sprintf("level=%d/group=%d", level, group), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				bytes := 0
				for b.Loop() {
					tile, err := x.Tile(group, level, r.Int64N(a.Span>>(level+10)+1))
					if err != nil {
						b.Fatal(err)
					}
					bytes += len(tile)
				}
				b.ReportMetric(float64(bytes)/float64(b.N), "bytes")
			})
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	x := large(b)
	for _, q := range []string{"nowhere", "key=12345", "name=nothing", "row=\"worker 1003\" id<1000"} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				for after := int64(-1); ; {
					f, err := x.Search(q, after, 1000)
					if err != nil {
						b.Fatal(err)
					}
					if after = f.Next; after < 0 {
						break
					}
				}
			}
			b.ReportMetric(float64(x.About().Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

func BenchmarkEvents(b *testing.B) {
	x := large(b)
	r := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		if _, err := x.Events(r.Int64N(x.About().Events), 256); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNumbersOfTenMillionEvents counts all of a timeline, and the middle half of it.
func BenchmarkNumbersOfTenMillionEvents(b *testing.B) {
	x := tenMillion(b)
	all := func(int) bool { return true }
	for name, stretch := range map[string][2]int64{"all": {0, x.About().Span + 1}, "half": {x.About().Span / 4, x.About().Span * 3 / 4}, "hundredth": {x.About().Span / 2, x.About().Span * 51 / 100}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n, err := x.Numbers(context.Background(), stretch[0], stretch[1], all)
				if err != nil || len(n.Names) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
