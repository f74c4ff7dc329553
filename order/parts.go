package order

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// PartSource is one sequence of frames whose stamps are of one clock, in chunks that can be read by themselves.
type PartSource struct {
	Frames trace.FrameChunks
	Map    *clock.Map
}

// Parts divides the timeline into parts that several goroutines bring into order at the same time, each from the chunks that
// reach into it:
//
//	timeline  |   part 0   |   part 1   |   part 2   | ...
//	source 0  [ c0 ][ c1 ][ c2 ][ c3 ][ c4 ][ c5 ]        part 1 reads c2, c3 and c4, and takes of c2 and c4
//	source 1  [    c0    ][    c1    ][    c2    ]        the frames that lie in it
//
// What is emitted is in the order of [Merge]: time, then source, then number. Frames that come late in their capture are not late
// here, however late they are. No frame goes from one processor's cache to another's, which costs more than all else that is done
// with it.
type Parts struct {
	sources []PartSource
	parts   []part
}

// part is the instants from one up to, but not including, another.
type part struct {
	from, to clock.TimelineTime
	chunks   [][2]int32 // by source: from, to
}

const (
	// partBytes is how many bytes of frames a part has, about: with what is made of them they lie in a core's own cache. A part has
	// more of many sources, of each partChunks chunks on average: of the first and the last it takes some frames only.
	partBytes  = 1 << 20
	partChunks = 8
	// maxPartBytes bounds a part's memory, and maxPartSources the open files of a goroutine.
	maxPartBytes   = 32 << 20
	maxPartSources = 64
	// maxReadTwice is how much may be read more than once, as a part of all bytes: chunks of captures in disorder reach into many parts.
	maxReadTwice = 0.5
)

// NewParts plans the parts of some sources. It returns nil where Merge is to be taken: there are too many sources, or frames of one
// instant, or of a capture in disorder, would take too much memory or time.
func NewParts(sources []PartSource) *Parts {
	if len(sources) == 0 || len(sources) > maxPartSources {
		return nil
	}
	p := &Parts{sources: sources}
	spans := make([]chunkSpans, len(sources))
	for i := range sources {
		s := &sources[i]
		if s.Frames == nil || s.Map == nil || s.Map.Mid.Check() != nil || s.Frames.Len() > math.MaxInt32 {
			return nil
		}
		spans[i] = newChunkSpans(s)
	}
	bounds, total := divide(spans)
	var read int64
	for n := range len(bounds) - 1 {
		x := part{from: bounds[n], to: bounds[n+1], chunks: make([][2]int32, len(sources))}
		var size int64
		for i := range spans {
			from, to := spans[i].reaching(x.from, x.to)
			x.chunks[i] = [2]int32{int32(from), int32(to)}
			size += spans[i].bytes(from, to)
		}
		if size > maxPartBytes {
			return nil
		}
		read += size
		if float64(read) > (1+maxReadTwice)*float64(total)+4*partBytes {
			return nil
		}
		p.parts = append(p.parts, x)
	}
	return p
}

// divide returns the instants that divide the timeline into parts, the first before and the last behind all frames, and the bytes of all
// chunks.
func divide(spans []chunkSpans) (bounds []clock.TimelineTime, total int64) {
	type begin struct {
		at    clock.TimelineTime
		bytes int64
	}
	var begins []begin
	for i := range spans {
		for n, at := range spans[i].least {
			size := spans[i].bytes(n, n+1)
			begins = append(begins, begin{at, size})
			total += size
		}
	}
	slices.SortFunc(begins, func(a, b begin) int { return cmp.Compare(a.at, b.at) })
	least := max(partBytes, partChunks*int64(len(spans))*total/int64(max(len(begins), 1)))
	bounds = append(bounds, math.MinInt64)
	var size int64
	for _, b := range begins {
		if size >= least && b.at > bounds[len(bounds)-1] {
			bounds, size = append(bounds, b.at), 0
		}
		size += b.bytes
	}
	return append(bounds, math.MaxInt64), total
}

// chunkSpans is where the chunks of a source lie on the timeline, and what is asked of them for parts that come in order.
type chunkSpans struct {
	least, greatest []clock.TimelineTime
	offsets         []int64 // bytes before each, and of all
	from, to        int     // of the part before
	ahead           []clock.TimelineTime
}

func newChunkSpans(s *PartSource) chunkSpans {
	n := s.Frames.Len()
	x := chunkSpans{
		least: make([]clock.TimelineTime, n), greatest: make([]clock.TimelineTime, n), ahead: make([]clock.TimelineTime, n+1),
		offsets: make([]int64, n+1),
	}
	cursor := clock.NewCursor(s.Map.Mid)
	for i := range n {
		c := s.Frames.Chunk(i)
		x.least[i], x.greatest[i] = cursor.At(c.Least), cursor.At(c.Greatest)
		x.offsets[i+1] = x.offsets[i] + c.Bytes
	}
	x.ahead[n] = math.MaxInt64
	for i := n - 1; i >= 0; i-- {
		x.ahead[i] = min(x.ahead[i+1], x.least[i])
	}
	return x
}

func (x *chunkSpans) bytes(from, to int) int64 { return x.offsets[to] - x.offsets[from] }

// reaching returns the chunks that lie between the first and the last that reach into a part. Parts are asked for in order.
func (x *chunkSpans) reaching(begin, end clock.TimelineTime) (from, to int) {
	// All chunks before from lie before this part, and so before later ones.
	for x.from < len(x.least) && x.greatest[x.from] < begin {
		x.from++
	}
	// ahead[to] is the least instant of all chunks from to on. The last instant of all belongs to the last part.
	for x.to < len(x.least) && (x.ahead[x.to] < end || end == math.MaxInt64) {
		x.to++
	}
	return x.from, max(x.from, x.to)
}
