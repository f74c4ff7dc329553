//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
)

// The bars of a recorder.
const (
	leastSpeed = 0.9  // of unrecorded throughput
	mostCore   = 25.  // percent of a core at 100,000 kernel events a second
	mostEvents = 50.  // percent of a core at a million events a second of a program
	mostUnseen = 1e-3 // of the packets that an interface counts; see judge
)

// judge holds the figures against what is promised and returns how many promises were broken.
//
// An interface counts packets at other instants than a recorder begins and ends. So the exact accounts are that of the programs'
// runs and that of the audit, in which nothing is under way at either end. There may not be many.
func (b *bench) judge(w io.Writer) (missed int) {
	fmt.Fprintln(w)
	say := func(good bool, format string, args ...any) {
		word := "PASS"
		if !good {
			word = "FAIL"
			missed++
		}
		fmt.Fprintf(w, "%s  %s\n", word, fmt.Sprintf(format, args...))
	}
	for _, l := range b.loads {
		base, ours := l.find(unrecorded), l.find(oursName)
		if base == nil || ours == nil {
			say(false, "%s: not measured", l.name)
			continue
		}
		// The datagrams come at a rate that a machine with nothing else to do always keeps.
		if ratio := ours.median(speedOf) / base.median(speedOf); strings.HasPrefix(l.name, "tcp") {
			say(ratio >= leastSpeed, "%s: %.3f of the unrecorded throughput (at least %g)", l.name, ratio, leastSpeed)
		} else {
			core := ours.median(perRateOf)
			say(core < mostCore, "%s: %.1f%% of a core for 100,000 events a second (below %g%%)", l.name, core, mostCore)
		}
		lost, counted, unseen := ours.sums()
		share := float64(max(unseen, -unseen)) / float64(max(counted, 1))
		say(share <= mostUnseen, "%s: of %d packets that the interface counted %d are lost and counted, %d not seen (at most %g of all)",
			l.name, counted, lost, unseen, mostUnseen)
		if len(l.missing) > 0 {
			say(false, "%s: not measured together with all others: %s", l.name, strings.Join(l.missing, "; "))
		}
	}
	if a := b.gap; a != nil {
		say(a.gap() == 0, "account: %d packets that the kernel showed are neither recorded nor counted as lost (0)", a.gap())
	}
	for _, e := range b.events {
		say(e.whole() == len(e.runs), "events, %s: whole in %d of %d runs", e.name, e.whole(), len(e.runs))
		worst := 0.
		for _, c := range e.core {
			worst = max(worst, c)
		}
		say(worst < mostEvents, "events, %s: at worst %.1f%% of a core (below %g%%)", e.name, worst, mostEvents)
	}
	return missed
}
