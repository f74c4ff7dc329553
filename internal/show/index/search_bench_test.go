package index_test

import (
	"testing"

	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
)

// tenMillion is the timeline of docs/viewer.md's figures.
func tenMillion(b *testing.B) *index.Index {
	o := load.Options{Events: 10_000_000, Hosts: 8, Messages: 1_000_000}
	schema := load.Schema(o)
	x := indextest.Build(b, schema, "", nil, func(to *index.Builder) error { return load.Write(o, schema, to) })
	b.Cleanup(func() { x.Close() })
	return x
}

// BenchmarkSearchOfTenMillionEvents asks until nothing is left, or there are as many hits as the page keeps.
func BenchmarkSearchOfTenMillionEvents(b *testing.B) {
	x := tenMillion(b)
	for _, q := range []string{"nowhere", "orders", "key=12345", "12345", "count>=65530", "latency_ms>99.9", `row="worker 1003" id<1000`, "-path:api", "name!=read fd=7 count=77"} {
		b.Run(q, func(b *testing.B) {
			hits := 0
			for b.Loop() {
				hits = 0
				for after := int64(-1); hits < 10_000; {
					f, err := x.Search(q, after, 500)
					if err != nil {
						b.Fatal(err)
					}
					hits += len(f.Found)
					if after = f.Next; after < 0 {
						break
					}
				}
			}
			b.ReportMetric(float64(hits), "hits")
		})
	}
}
