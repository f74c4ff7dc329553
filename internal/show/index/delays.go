package index

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

// histogram counts delays in buckets as HdrHistogram does: exact to 63 ns, and beyond that at most 1/32 of their lower
// limit wide. The bucket of a number is its highest six bits and the number of bits that follow.
type histogram struct {
	buckets         map[int32]int64
	count           int64
	least, greatest int64
	total           float64
}

func (h *histogram) add(delay int64) {
	if h.count == 0 {
		h.least, h.greatest, h.buckets = delay, delay, make(map[int32]int64)
	}
	h.least, h.greatest = min(h.least, delay), max(h.greatest, delay)
	h.count++
	h.total += float64(delay)
	h.buckets[bucket(delay)]++
}

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

// histograms lists the delays by pairs of hosts.
func histograms(delays map[[2]int32]*histogram) []Histogram {
	out := []Histogram{}
	keys := slices.SortedFunc(maps.Keys(delays), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		h := delays[key]
		x := Histogram{From: int(key[0]), To: int(key[1]), Messages: h.count, Least: h.least, Greatest: h.greatest,
			Mean: h.total / float64(h.count), Buckets: [][3]int64{}}
		for _, n := range slices.Sorted(maps.Keys(h.buckets)) {
			from, to := borders(n)
			x.Buckets = append(x.Buckets, [3]int64{from, to, h.buckets[n]})
		}
		out = append(out, x)
	}
	return out
}
