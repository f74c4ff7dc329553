package envelope

import "slices"

// sortLowest sorts the k least of a list to its front, and leaves the others behind them in any order. The list has no NaN.
// It takes time n + k log k in the mean: a selection (C. A. R. Hoare, Algorithm 65: Find, 1961), then a sort.
func sortLowest(v []float64, k int) {
	const worthSelecting = 0.7 // of the list: beyond, the selection costs what it spares
	if float64(k) >= worthSelecting*float64(len(v)) {
		slices.Sort(v)
		return
	}
	selectLowest(v, k)
	slices.Sort(v[:k])
}

// selectLowest moves the k least of a list, 0 < k < len(v), to its front.
func selectLowest(v []float64, k int) {
	// What lies before low belongs to the front, what lies behind high does not.
	for low, high := 0, len(v)-1; low < high; {
		a, b, c := v[low], v[low+(high-low)/2], v[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch { // up to j is at most the pivot, from i on at least that, between them equal to it
		case k-1 <= j:
			high = j
		case k-1 >= i:
			low = i
		default:
			return
		}
	}
}
