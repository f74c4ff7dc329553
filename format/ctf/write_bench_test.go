package ctf

import (
	"fmt"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// BenchmarkWriter writes events of six integers, of 32 and 64 bits by turns, on eight rows.
func BenchmarkWriter(b *testing.B) {
	for _, bounds := range []Bounds{WithoutBounds, WithBounds} {
		b.Run(fmt.Sprintf("bounds=%t", bounds == WithBounds), func(b *testing.B) {
			var rows []trace.Stream
			for i := range 8 {
				rows = append(rows, trace.Stream{Name: fmt.Sprint("CPU ", i), Kind: trace.CPU, ID: int64(i), Parent: -1})
			}
			l := simple(rows...)
			c := &l.schema.Classes[0]
			c.Fields = nil
			r := trace.TimelineEvent{}
			for i := range 6 {
				c.Fields = append(c.Fields, trace.Field{Name: fmt.Sprint("f", i), Type: trace.Type{Kind: trace.Uint, Bits: 32 + i%2*32}})
				r.Values = append(r.Values, trace.OfUint(uint64(i)))
			}
			w, err := NewWriter(filepath.Join(b.TempDir(), "out"), l.schema, WriterOptions{Bounds: bounds})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			i := int64(0)
			for b.Loop() {
				i++
				r.Time, r.Low, r.High, r.Stream = clock.TimelineTime(i*1000), clock.TimelineTime(i*1000-5), clock.TimelineTime(i*1000+5), int(i&7)
				r.Values[0].Bits = uint64(i)
				if err := w.Write(&r); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(w.Stats().Events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.SetBytes(int64(w.Stats().Bytes / w.Stats().Events))
		})
	}
}
