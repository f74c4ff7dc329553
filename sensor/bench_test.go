package sensor

import (
	"testing"
	"unsafe"

	"meridian/clock"
)

var (
	bench1    = NewEvent1[int64]("bench", "one", "a")
	bench6    = NewEvent6[int64, int64, int64, int64, int64, int64]("bench", "six", "a", "b", "c", "d", "e", "f")
	bench8    = NewEvent8[int64, int64, int64, int64, int64, int64, int64, int64]("bench", "eight", "a", "b", "c", "d", "e", "f", "g", "h")
	benchText = NewEvent3[int64, string, float64]("bench", "text", "id", "path", "seconds")
	benchOff  = NewEvent6[int64, int64, int64, int64, int64, int64]("benchoff", "six", "a", "b", "c", "d", "e", "f")
	benchSpan = NewSlice1[int64]("bench", "slice", "id")
	benchHist = NewHistogram("bench", "histogram")
)

func benched(b *testing.B) {
	b.Helper()
	if err := Start(Options{Dir: b.TempDir(), Overwrite: true, Events: "!benchoff"}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { Stop() })
	b.ReportAllocs()
}

func BenchmarkLimit(b *testing.B) {
	memory := make([]byte, 64<<10+64)
	at := 0
	for b.Loop() {
		p := unsafe.Pointer(&memory[at&(64<<10-1)])
		*(*[8]uint64)(p) = [8]uint64{clock.Cycles(), 1, 2, 3, 4, 5, 6, 7}
		at += 64
	}
}

func BenchmarkEmit1(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		bench1.Emit(i)
	}
}

func BenchmarkEmit6(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		bench6.Emit(i, i, 3, 4, 5, 6)
	}
}

func BenchmarkEmit8(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		bench8.Emit(i, i, 3, 4, 5, 6, 7, 8)
	}
}

func BenchmarkEmitText(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		benchText.Emit(i, "/index.html", 0.5)
	}
}

func BenchmarkEmit6Off(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		benchOff.Emit(i, i, 3, 4, 5, 6)
	}
}

func BenchmarkEmit6Unstarted(b *testing.B) {
	for i := int64(0); b.Loop(); i++ {
		benchOff.Emit(i, i, 3, 4, 5, 6)
	}
}

func BenchmarkEmit6Parallel(b *testing.B) {
	benched(b)
	b.RunParallel(func(p *testing.PB) {
		for i := int64(0); p.Next(); i++ {
			bench6.Emit(i, i, 3, 4, 5, 6)
		}
	})
}

func BenchmarkSlice(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		benchSpan.Begin(i).End()
	}
}

func BenchmarkHistogram(b *testing.B) {
	benched(b)
	for i := int64(0); b.Loop(); i++ {
		benchHist.Add(i & 0xffff)
	}
}
