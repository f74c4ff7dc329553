package index

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// bucket returns the number of a delay's bucket, which grows with the delay.
func bucket(delay int64) int32 {
	if delay < 0 {
		return -1 - bucket(^delay) // -1 is the mirror of 0
	}
	shift := max(bits.Len64(uint64(delay))-6, 0)
	return int32(shift)<<5 + int32(delay>>shift)
}

// borders returns the least and the greatest delay of a bucket.
func borders(n int32) (least, greatest int64) {
	if n < 0 {
		least, greatest = borders(-1 - n)
		return ^greatest, ^least
	}
	if n < 64 {
		return int64(n), int64(n)
	}
	shift := n>>5 - 1
	least = int64(n-shift<<5) << shift
	return least, least + (1<<shift - 1)
}

// leastBucket and greatestBucket are those of the delays that an int64 can be.
var leastBucket, greatestBucket = bucket(math.MinInt64), bucket(math.MaxInt64)

// buckets counts by bucket. It holds those from about the least to about the greatest that something is in: 4,000 at most, since there are
// no others. The zero value is ready.
type buckets struct {
	first  int32
	counts []int64
}

// windowStep is what a window begins and ends at multiples of.
const windowStep = 32

// add adds n to the bucket of a number.
func (b *buckets) add(number int32, n int64) {
	if uint(number-b.first) >= uint(len(b.counts)) {
		b.hold(number, number+1)
	}
	b.counts[number-b.first] += n
}

// hold has the window reach from one bucket to before another, beside what it reaches over already.
func (b *buckets) hold(from, to int32) {
	if len(b.counts) > 0 {
		from, to = min(from, b.first), max(to, b.first+int32(len(b.counts)))
	}
	from &^= windowStep - 1
	to = (to + windowStep - 1) &^ (windowStep - 1)
	counts := make([]int64, to-from)
	if len(b.counts) > 0 {
		copy(counts[b.first-from:], b.counts)
	}
	b.first, b.counts = from, counts
}

// merge adds the counts of others.
func (b *buckets) merge(o *buckets) {
	if len(o.counts) == 0 {
		return
	}
	if len(b.counts) == 0 {
		b.first, b.counts = o.first, slices.Clone(o.counts)
		return
	}
	if last := o.first + int32(len(o.counts)); o.first < b.first || last > b.first+int32(len(b.counts)) {
		b.hold(o.first, last)
	}
	to := b.counts[o.first-b.first:]
	for i, n := range o.counts {
		to[i] += n
	}
}

// all gives the buckets that something is in, in order.
func (b *buckets) all() iter.Seq2[int32, int64] {
	return func(yield func(int32, int64) bool) {
		for i, n := range b.counts {
			if n != 0 && !yield(b.first+int32(i), n) {
				return
			}
		}
	}
}
