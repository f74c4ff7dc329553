package index

import (
	"cmp"
	"maps"
	"slices"
)

// histogram counts delays in buckets as HdrHistogram does: exact to 63 ns, and beyond that at most 1/32 of their lower
// limit wide. The bucket of a number is its highest six bits and the number of bits that follow.
type histogram struct {
	buckets         buckets
	count           int64
	least, greatest int64
	total           float64
}

func (h *histogram) add(delay int64) {
	if h.count == 0 {
		h.least, h.greatest = delay, delay
	}
	h.least, h.greatest = min(h.least, delay), max(h.greatest, delay)
	h.count++
	h.total += float64(delay)
	h.buckets.add(bucket(delay), 1)
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
		for number, n := range h.buckets.all() {
			from, to := borders(number)
			x.Buckets = append(x.Buckets, [3]int64{from, to, n})
		}
		out = append(out, x)
	}
	return out
}
