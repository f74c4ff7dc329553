//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// bar is what ours is to reach, of a peer at the same rate and in the same run, or by itself.
type bar struct {
	median float64 // of the peer's
	least  float64 // ns; a median below is good whatever the peer's is
	p99    float64 // of the peer's
	most   float64 // ns; p99 at most, whatever the peer's is
}

// barOf returns the bar of a synchroniser under a load against a peer.
func barOf(r, peer *result) (b bar, ok bool) {
	if strings.HasPrefix(peer.name, "ptp4l") {
		return bar{median: 0.25, p99: 0.25}, r.rate == peer.rate && !r.pair && r.load != "saturated"
	}
	switch {
	case r.rate < 1 && peer.rate < 1:
		if strings.Contains(r.name, "burst") {
			return bar{p99: 0.2}, true
		}
		return bar{p99: 0.75}, true
	case r.rate != peer.rate:
		return bar{}, false
	case r.load == "saturated":
		return bar{most: 1200}, true
	case r.pair && r.load != "bursts":
		return bar{p99: 0.1}, true
	case r.load == "bursts" && r.rate > 16:
		return bar{median: 1.25, p99: 0.25}, true
	default:
		return bar{median: 0.5, least: 150, p99: 0.25}, true
	}
}

// missed returns what of the bar is missed.
func (b bar) missed(r, peer *result) (all []string) {
	if b.median > 0 && r.median > max(b.median*peer.median, b.least) {
		all = append(all, fmt.Sprintf("median %.0f ns, not %.2f of %s's %.0f", r.median, b.median, peer.name, peer.median))
	}
	if b.p99 > 0 && r.p99 > b.p99*peer.p99 {
		all = append(all, fmt.Sprintf("p99 %.0f ns, not %.2f of %s's %.0f", r.p99, b.p99, peer.name, peer.p99))
	}
	if b.most > 0 && r.p99 > b.most {
		all = append(all, fmt.Sprintf("p99 %.0f ns, not %.0f", r.p99, b.most))
	}
	return all
}

// warpFactor is how much larger errors may be where clocks differ.
const warpFactor = 3

// stepExchanges is within how many exchanges a step of three least round trips is to be noticed.
const stepExchanges = 4

// plain returns the result of the same synchroniser with clocks that do not differ, for one with clocks that do.
func (r *result) plain(all []*result) *result {
	for _, other := range all {
		if r.warp != "" && other.warp == "" && other.failed == nil && other.load == r.load && other.rate == r.rate && other.pair == r.pair {
			return other
		}
	}
	return nil
}

// widthBar returns the greatest median width of the bound in least round trips, or 0 for none.
func (r *result) widthBar() float64 {
	switch {
	case r.load == "saturated" || r.rate < 10:
		return 0
	case r.rate > 100:
		return 1.4
	default:
		return 1.75
	}
}

// printNoticed says after how many exchanges steps were noticed.
func printNoticed(w io.Writer, all []*result) {
	for _, r := range all {
		if n := len(r.noticed); n > 0 {
			fmt.Fprintf(w, "%s, %s: %d steps of %.1f least round trips, noticed after %d exchanges (median), %d to %d\n", r.load, r.name, n,
				stepSize/r.leastRTT, r.noticed[n/2], r.noticed[0], r.noticed[n-1])
		}
	}
}

// report prints the tables and what bars are missed, and returns how many.
func report(w io.Writer, all []*result, markdown bool) (missed int) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...any) {
		for i, c := range cells {
			if markdown {
				fmt.Fprint(out, "| ")
			}
			fmt.Fprint(out, c)
			if i < len(cells)-1 {
				fmt.Fprint(out, "\t")
			}
		}
		if markdown {
			fmt.Fprint(out, " |")
		}
		fmt.Fprintln(out)
	}
	row("load", "synchroniser", "median ns", "p99 ns", "points", "wrong bounds", "width/least RTT", "free clocks", "least RTT ns", "core", "packets/s", "B/s")
	if markdown {
		row("---", "---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	}
	for _, r := range all {
		if r.failed != nil {
			row(r.load, r.name, "not measured: "+r.failed.Error())
			continue
		}
		bounds, width, free, least := "-", "-", "-", "-"
		if r.bounded > 0 {
			bounds, width = fmt.Sprintf("%d of %d", r.wrong, r.bounded), fmt.Sprintf("%.2f", r.width)
			least = fmt.Sprintf("%.0f", r.leastRTT)
			if r.free > 0 { // doubles do not say it
				free = fmt.Sprintf("%.2f", r.free)
			}
		}
		row(r.load, r.name, fmt.Sprintf("%.0f", r.median), fmt.Sprintf("%.0f", r.p99), r.points, bounds, width, free, least,
			fmt.Sprintf("%.2f%%", 100*r.cpu), fmt.Sprintf("%.0f", r.packets), fmt.Sprintf("%.0f", r.bytes))
	}
	_ = out.Flush()
	printNoticed(w, all)
	for _, r := range all {
		for _, what := range r.missed(all) {
			missed++
			fmt.Fprintf(w, "missed: %s, %s: %s\n", r.load, r.name, what)
		}
	}
	return missed
}

// missed returns the bars that a result of ours misses.
func (r *result) missed(all []*result) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case r.peer:
		return nil
	case r.failed != nil:
		return []string{r.failed.Error()}
	}
	if r.wrong > 0 {
		say("%d of %d bounds are wrong", r.wrong, r.bounded)
	}
	if r.bounded < r.points {
		say("%d of %d points are not bounded", r.points-r.bounded, r.points)
	}
	if n := len(r.noticed); n > 0 && (r.noticed[0] < 0 || r.noticed[n-1] > stepExchanges) {
		say("steps noticed after %d to %d exchanges (-1: never), not %d", r.noticed[0], r.noticed[n-1], stepExchanges)
	}
	if r.warp == "steps" {
		return lines // what follows a step is not what runs on
	}
	if plain := r.plain(all); plain != nil && (r.median > warpFactor*plain.median || r.p99 > warpFactor*plain.p99) {
		say("%.0f/%.0f ns, more than %d times the %.0f/%.0f of clocks that do not differ", r.median, r.p99, warpFactor, plain.median, plain.p99)
	}
	if bar := r.widthBar(); bar > 0 && r.width > bar {
		say("bounds %.2f least round trips wide, not %.2f", r.width, bar)
	}
	for _, peer := range all {
		if !peer.peer || peer.failed != nil || peer.load != r.load {
			continue
		}
		if b, ok := barOf(r, peer); ok {
			lines = append(lines, b.missed(r, peer)...)
		}
	}
	return lines
}
