package cause

import (
	"cmp"
	"slices"
)

// Key names an item of a path: a slice's name on a host, or the way from one host to another.
type Key struct {
	Class    int // -1 for none, and for a way
	Host     int // of a way, where it leads
	FromHost int // of a way; -1 else
	State    State
	Wait     Wait
}

// keyOf returns the item that a piece belongs to. Time in which a lock was waited for counts as the lock's, whatever its holder did.
func (m *Model) keyOf(x *Piece) Key {
	key := Key{Class: x.Class, Host: m.Hosts[x.Row], FromHost: -1, State: x.State, Wait: x.Wait}
	if x.From >= 0 {
		key.FromHost = m.Hosts[x.From]
	}
	if key.Wait == ForLock && key.State != Undecided {
		key.State, key.Wait = Lock, NoWait
	}
	return key
}

// Item is what a path spent under one key: by the estimate C, and in truth C + sum of K[p]·theta[p].
type Item struct {
	Key    Key
	C      int64
	K      map[[2]int]int64 // by pair of hosts, the lesser first; the hosts of variables of the typical are negative
	Pieces int
}

// Blame is the items of one path with what is known of the clocks.
type Blame struct {
	Items []Item
	Theta map[[2]int]Interval
	// Contradiction says that the bounds and the messages leave no theta: nothing is decided.
	Contradiction bool
}

// unlimited is more than any theta may be: where nothing bounds one.
const unlimited = int64(1) << 50

// Sum adds the pieces of a path up. The difference of two clocks is taken to be the same all along a path.
func (m *Model) Sum(pieces []Piece) *Blame {
	b := &Blame{Theta: make(map[[2]int]Interval)}
	at := make(map[Key]int)
	for i := range pieces {
		x := &pieces[i]
		key := m.keyOf(x)
		n, is := at[key]
		if !is {
			n = len(b.Items)
			at[key] = n
			b.Items = append(b.Items, Item{Key: key, K: make(map[[2]int]int64)})
		}
		it := &b.Items[n]
		it.C += x.Length()
		it.Pieces++
		if x.From >= 0 && key.FromHost != key.Host {
			b.message(m, x, it)
		}
		for _, l := range x.Less {
			b.shorter(m, &l, it)
		}
	}
	for p, t := range b.Theta {
		b.Contradiction = b.Contradiction || t.Low > t.High
		b.Theta[p] = t
	}
	slices.SortStableFunc(b.Items, func(x, y Item) int { return cmp.Compare(y.C, x.C) })
	return b
}

// message cuts theta of a pair by a message, which takes the least delay at least.
func (b *Blame) message(m *Model, x *Piece, it *Item) {
	p, sign := [2]int{m.Hosts[x.From], m.Hosts[x.Row]}, int64(1)
	if p[0] > p[1] {
		p, sign = [2]int{p[1], p[0]}, -1
	}
	it.K[p] += sign
	t, known := b.Theta[p]
	if !known {
		t = Interval{Low: -unlimited, High: unlimited, HasLow: true, HasHigh: true}
	}
	if u := m.theta(x.From, x.Begin, x.Row, x.End); u.HasLow {
		if sign < 0 {
			u.Low, u.High = -u.High, -u.Low
		}
		t.Low, t.High = max(t.Low, u.Low), min(t.High, u.High)
	}
	if floor := m.MinDelay - x.Length(); sign > 0 {
		t.Low = max(t.Low, floor)
	} else {
		t.High = min(t.High, -floor)
	}
	b.Theta[p] = t
}

// shorter takes what a piece is shorter by, as a way took longer than the estimate.
func (b *Blame) shorter(m *Model, l *Shorter, it *Item) {
	p, sign := [2]int{m.Hosts[l.From], m.Hosts[l.To]}, int64(1)
	if p[0] == p[1] {
		return
	}
	if p[0] > p[1] {
		p, sign = [2]int{p[1], p[0]}, -1
	}
	it.K[p] -= sign
	if _, known := b.Theta[p]; known {
		return
	}
	t := Interval{Low: -unlimited, High: unlimited, HasLow: true, HasHigh: true}
	if u := m.theta(l.From, l.Sent, l.To, l.Received); u.HasLow {
		if t.Low, t.High = u.Low, u.High; sign < 0 {
			t.Low, t.High = -u.High, -u.Low
		}
	}
	b.Theta[p] = t
}

// Way returns between which lengths a message of the path took; false where a side is not bounded.
func (b *Blame) Way(m *Model, x *Piece) (low, high int64, bounded bool) {
	p := [2]int{m.Hosts[x.From], m.Hosts[x.Row]}
	d := x.Length()
	if p[0] == p[1] {
		return d, d, true
	}
	if p[0] < p[1] {
		t := b.Theta[p]
		return d + t.Low, d + t.High, t.Low > -unlimited && t.High < unlimited
	}
	t := b.Theta[[2]int{p[1], p[0]}]
	return d - t.High, d - t.Low, t.Low > -unlimited && t.High < unlimited
}

// Range returns between which lengths an item is.
func (b *Blame) Range(it *Item) (low, high int64) {
	low, high = it.C, it.C
	for p, k := range it.K {
		t := b.Theta[p]
		x, y := times(k, t.Low), times(k, t.High)
		low, high = plus(low, min(x, y)), plus(high, max(x, y))
	}
	return low, high
}

// furthest is where lengths end: many messages of a pair that nothing bounds would overflow.
const furthest = int64(1) << 61

func times(k, t int64) int64 {
	if t != 0 && max(k, -k) > furthest/max(t, -t) {
		if (k < 0) == (t < 0) {
			return furthest
		}
		return -furthest
	}
	return k * t
}

func plus(a, b int64) int64 {
	return max(-furthest, min(furthest, max(-furthest, min(furthest, a))+max(-furthest, min(furthest, b))))
}

// most is by how much one item can exceed another.
func (b *Blame) most(i, j *Item) int64 {
	d := Item{C: i.C - j.C, K: make(map[[2]int]int64, len(i.K)+len(j.K))}
	for p, k := range i.K {
		d.K[p] += k
	}
	for p, k := range j.K {
		d.K[p] -= k
	}
	_, high := b.Range(&d)
	return high
}

// Largest returns the items, by their place in Items, of which each can be the largest within the bounds. One alone is
// named; several are undecided. Time of which it is not known what it was may be that of any item: where it leaves open whether one is the
// largest, it is named as well.
func (b *Blame) Largest() (can []int) {
	anybodys := int64(0)
	for i := range b.Items {
		if b.Items[i].Key.State == Undecided {
			_, high := b.Range(&b.Items[i])
			anybodys = plus(anybodys, max(0, high))
		}
	}
	for i := range b.Items {
		is, more := true, anybodys
		if b.Items[i].Key.State == Undecided {
			more = 0
		}
		for j := range b.Items {
			if i != j && !b.Contradiction && plus(b.most(&b.Items[i], &b.Items[j]), more) < 0 {
				is = false
				break
			}
		}
		if is {
			can = append(can, i)
		}
	}
	if len(can) == 1 {
		can = append(can, b.unknown(can[0])...)
	}
	return can
}

// unknown returns the item of which it is known least what it was, if all such time together can make another item larger than one.
func (b *Blame) unknown(largest int) []int {
	sum, most, which := int64(0), int64(0), -1
	for i := range b.Items {
		if !b.Items[i].Key.State.unknown() || i == largest {
			continue
		}
		_, high := b.Range(&b.Items[i])
		if sum = plus(sum, max(0, high)); high > most {
			most, which = high, i
		}
	}
	if which < 0 || b.Items[largest].Key.State.unknown() {
		return nil
	}
	for i := range b.Items {
		if i != largest && !b.Items[i].Key.State.unknown() && plus(b.most(&b.Items[i], &b.Items[largest]), sum) >= 0 {
			return []int{which}
		}
	}
	return nil
}

// Typical is the median of each item over like requests, constants and coefficients apart. Items that fewer than half have
// are not typical.
func Typical(all []*Blame) map[Key]Item {
	type values struct {
		c []int64
		k map[[2]int][]int64
	}
	by := make(map[Key]*values)
	for _, b := range all {
		for i := range b.Items {
			it := &b.Items[i]
			v := by[it.Key]
			if v == nil {
				v = &values{k: make(map[[2]int][]int64)}
				by[it.Key] = v
			}
			v.c = append(v.c, it.C)
			for p, k := range it.K {
				v.k[p] = append(v.k[p], k)
			}
		}
	}
	out := make(map[Key]Item)
	for key, v := range by {
		if 2*len(v.c) < len(all) {
			continue
		}
		it := Item{Key: key, C: median(v.c), K: make(map[[2]int]int64)}
		for p, list := range v.k {
			list = append(list, make([]int64, len(v.c)-len(list))...) // the others did not depend on these clocks
			if k := median(list); k != 0 {
				it.K[p] = k
			}
		}
		out[key] = it
	}
	return out
}

func median(list []int64) int64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// Beyond returns what of each item is beyond the typical: where both went the same ways, the clocks' errors cancel out, but
// for turn, the most by which the difference of two clocks changed between this request and the others.
func (b *Blame) Beyond(typical map[Key]Item, turn int64) *Blame {
	d := &Blame{Theta: make(map[[2]int]Interval, len(b.Theta)), Contradiction: b.Contradiction}
	for p, t := range b.Theta {
		d.Theta[p] = t
	}
	for n, it := range b.Items {
		x := Item{Key: it.Key, C: it.C, K: make(map[[2]int]int64), Pieces: it.Pieces}
		for p, k := range it.K {
			x.K[p] = k
		}
		t, is := typical[it.Key]
		if is {
			x.C -= t.C
			ways := int64(0)
			for p, k := range t.K {
				if _, known := d.Theta[p]; !known {
					d.Theta[p] = Interval{Low: -unlimited, High: unlimited, HasLow: true, HasHigh: true}
				}
				if x.K[p] -= k; x.K[p] == 0 {
					delete(x.K, p)
				}
				ways += max(k, -k)
			}
			if ways > 0 {
				v := [2]int{-1 - n, 0} // what the clocks turned meanwhile, on either side
				x.K[v], d.Theta[v] = ways, Interval{Low: -turn, High: turn, HasLow: true, HasHigh: true}
			}
		}
		d.Items = append(d.Items, x)
	}
	return d
}
