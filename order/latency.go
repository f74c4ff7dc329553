package order

import (
	"math"
	"math/bits"
	"time"
)

// Latencies is a histogram of spans from 0 on: exact below 32 ns, else in steps of at most 1/16.
type Latencies struct {
	counts [latencyBuckets]int64
	count  int64
	most   time.Duration
}

const latencyBuckets = 60 * 16

// add counts a span; one below 0 as 0.
func (l *Latencies) add(d time.Duration) {
	d = max(d, 0)
	l.counts[bucketOf(uint64(d))]++
	l.count++
	l.most = max(l.most, d)
}

// merge adds the spans of another.
func (l *Latencies) merge(o *Latencies) {
	for i, n := range o.counts {
		l.counts[i] += n
	}
	l.count += o.count
	l.most = max(l.most, o.most)
}

// bucketOf returns the number of the bucket: four bits after the first one of v, and how far they are from the right.
func bucketOf(v uint64) int {
	shift := max(bits.Len64(v)-5, 0)
	return min(shift*16+int(v>>shift), latencyBuckets-1)
}

// lastOf returns the greatest span of a bucket.
func lastOf(bucket int) time.Duration {
	if bucket < 32 {
		return time.Duration(bucket)
	}
	shift := bucket/16 - 1
	return time.Duration(uint64(bucket-shift*16+1)<<shift - 1)
}

// Count returns how many spans there are.
func (l *Latencies) Count() int64 { return l.count }

// Max returns the greatest span.
func (l *Latencies) Max() time.Duration { return l.most }

// Quantile returns a span that at least the share q of the spans does not exceed, at most 1/16 above the least such. It is 0
// when there are none.
func (l *Latencies) Quantile(q float64) time.Duration {
	rank := int64(math.Ceil(q * float64(l.count)))
	for i, n := range l.counts {
		if rank -= n; rank <= 0 && n > 0 {
			return min(lastOf(i), l.most)
		}
	}
	return l.most
}
