package sensor

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Histogram counts values where there are too many for an event each: every interval (Options.Interval) it writes one event of
// what came since the last, with their number, sum, least and greatest, three quantiles, and the buckets that are not
// empty.
//
// Buckets are logarithmic with eight steps to every power of two, so that a bucket's bounds differ by an eighth at most:
//
//	values    0 1 ... 15    16-17 18-19 ... 30-31    32-35 36-39 ...    ... 2^62 ...
//	bucket    0 1 ... 15     16    17   ...  23       24    25            up to 487
//
// Values below 0 count as 0. A sum that would pass 2^63-1 stays there, which readers' integers of 64 bits can hold: read
// it as "at least". The counter meridian:saturated counts the events that say so; their other numbers are as always.
// Add costs some ten nanoseconds, more where many processors share a histogram.
type Histogram struct {
	class
	sum, count atomic.Int64
	min, max   atomic.Int64
	buckets    [bucketCount]atomic.Int64
}

const bucketCount = 488

// bucketMembers is how the event is declared: the numbers, then a sequence of pairs.
var bucketMembers = []member{memberOf[int64]("count"), memberOf[int64]("sum"), memberOf[int64]("min"), memberOf[int64]("max"),
	memberOf[int64]("p50"), memberOf[int64]("p90"), memberOf[int64]("p99"), {"buckets", bucketsKind}}

// NewHistogram declares a histogram.
func NewHistogram(category, name string) *Histogram {
	return declare(category, name, counterEnding, nil, bucketMembers, func(h *Histogram) *class {
		h.min.Store(math.MaxInt64)
		histograms.add(h)
		return &h.class
	})
}

// Add counts a value.
func (h *Histogram) Add(v int64) {
	if h.open() {
		h.add(max(v, 0))
	}
}

func (h *Histogram) add(v int64) {
	h.buckets[bucketOf(v)].Add(1)
	h.addToSum(v)
	for low := h.min.Load(); v < low && !h.min.CompareAndSwap(low, v); low = h.min.Load() {
	}
	for high := h.max.Load(); v > high && !h.max.CompareAndSwap(high, v); high = h.max.Load() {
	}
	h.count.Add(1)
}

// addToSum does not simply add and look afterwards: between the two others may add, too, and bring what wrapped back above 0.
func (h *Histogram) addToSum(v int64) {
	for {
		before := h.sum.Load()
		after := before + min(v, math.MaxInt64-before)
		if h.sum.CompareAndSwap(before, after) {
			return
		}
	}
}

// saturated counts the events of histograms whose sum is as large as it can be.
var saturated = NewCounter("meridian", "saturated")

func bucketOf(v int64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - 4
	return shift<<3 + int(v>>shift)
}

// lowest returns the least value of a bucket.
func lowest(bucket int) int64 {
	if bucket < 16 {
		return int64(bucket)
	}
	shift := bucket>>3 - 1
	return int64(bucket&7|8) << shift
}

// bucket is a pair of the event.
type bucket struct {
	low   int64
	count int64
}

// flush writes the event of what came since the last one. Values that come meanwhile count here or in the next, or
// with their bucket here and their sum in the next.
func (h *Histogram) flush() {
	if !h.open() || h.count.Load() == 0 {
		return
	}
	n := h.count.Swap(0)
	sum, low, high := h.sum.Swap(0), h.min.Swap(math.MaxInt64), h.max.Swap(0)
	var filled []bucket
	total := int64(0)
	for i := range h.buckets {
		if h.buckets[i].Load() == 0 {
			continue
		}
		if c := h.buckets[i].Swap(0); c > 0 {
			filled = append(filled, bucket{lowest(i), c})
			total += c
		}
	}
	if low > high {
		low = high
	}
	quantile := func(q float64) int64 {
		left := int64(math.Ceil(q * float64(total)))
		for _, b := range filled {
			if left -= b.count; left <= 0 {
				return min(max(b.low, low), high)
			}
		}
		return high
	}
	if sum == math.MaxInt64 {
		saturated.Add(1)
	}
	h.emit([7]int64{n, sum, low, high, quantile(0.5), quantile(0.9), quantile(0.99)}, filled)
}

func (h *Histogram) emit(numbers [7]int64, buckets []bucket) {
	w, at := h.begin(7*8 + 4 + len(buckets)*int(unsafe.Sizeof(bucket{})))
	if !w.Writing() {
		return
	}
	for _, v := range numbers {
		at = Put(at, v)
	}
	at = Put(at, uint32(len(buckets)))
	for _, b := range buckets {
		at = Put(Put(at, b.low), b.count)
	}
	w.End()
}
