package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"meridian/align"
	"meridian/align/bound"
	"meridian/trace"
)

// mostNamed is how many false messages a warning names.
const mostNamed = 3

// warnOfFalseMessages names the messages that contradict all others and were left out. Where one is the first or the
// last between two hosts, a clock may have been set there instead, and the bounds behind it are not sure.
func warnOfFalseMessages(f *findings) {
	byPair := make(map[[2]int][]align.FalseMessage)
	var pairs [][2]int
	for _, m := range f.Solution.False {
		key := [2]int{min(m.From, m.To), max(m.From, m.To)}
		if byPair[key] == nil {
			pairs = append(pairs, key)
		}
		byPair[key] = append(byPair[key], m)
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return cmp.Or(cmp.Compare(p[0], q[0]), cmp.Compare(p[1], q[1])) })
	for _, key := range pairs {
		messages := byPair[key]
		names := f.Clocks[key[0]].Name + " and " + f.Clocks[key[1]].Name
		verb := "messages contradict all others and were left out: their timestamps, or their matches, are wrong"
		if len(messages) == 1 {
			verb = "message contradicts all others and was left out: a timestamp, or its match, is wrong"
		}
		f.warnings.Add(names, fmt.Sprintf("%d %s", len(messages), verb), namedMessages(f.Clocks, messages))
		if i := slices.IndexFunc(messages, func(m align.FalseMessage) bool { return m.Outermost }); i >= 0 {
			f.breakPromise(fmt.Sprintf("the first or the last message between %s contradicts all others (%s): either it is false, or a clock was set then and the bounds beyond it are not certain",
				names, namedMessages(f.Clocks, messages[i:i+1])))
		}
	}
}

// namedMessages names some messages by their clocks and the instants of their sending.
func namedMessages(clocks []trace.Clock, messages []align.FalseMessage) string {
	var names []string
	for _, m := range messages[:min(len(messages), mostNamed)] {
		names = append(names, fmt.Sprintf("%s to %s, sent at %s s", clocks[m.From].Name, clocks[m.To].Name, seconds(int64(m.Sent))))
	}
	if more := len(messages) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, "; ")
}

// toleranceClause says how many messages may be false without the bounds of a solution being wrong.
func toleranceClause(s *align.Solution, clocks []trace.Clock, o *align.Options) string {
	var pairs []*align.Pair
	for i := range s.Pairs {
		if x := &s.Pairs[i]; x.ToleratedAB.Of > 0 || x.ToleratedBA.Of > 0 {
			pairs = append(pairs, x)
		}
	}
	switch len(pairs) {
	case 0:
		return "" // the method believes all messages
	case 1:
		return tolerancesOfPair(pairs[0], clocks)
	}
	occurs := make(map[int]bool) // numbers of messages that may be false
	for _, x := range pairs {
		for _, t := range []align.Tolerated{x.ToleratedAB, x.ToleratedBA} {
			if t.Of > 0 {
				occurs[t.False] = true
			}
		}
	}
	tolerance := o.Tolerance
	if tolerance == nil {
		tolerance = &bound.DefaultTolerance
	}
	numbers := slices.Sorted(maps.Keys(occurs))
	most := numbers[len(numbers)-1]
	if most == 0 {
		return everyMessageIsTrue
	}
	clause := fmt.Sprintf("at most %d of any %d consecutive messages in one direction are false", most, bound.BlockSize)
	for i, n := range slices.Backward(numbers[:len(numbers)-1]) {
		if tolerance.Automatic {
			clause += fmt.Sprintf(", at most %d in directions of fewer than %d", n, tolerance.LeastFor(numbers[i+1]))
		}
	}
	return clause
}

// everyMessageIsTrue is said where no message may be false.
const everyMessageIsTrue = "every message is true"

// tolerancesOfPair says how many messages of a pair may be false.
func tolerancesOfPair(x *align.Pair, clocks []trace.Clock) string {
	a, b := clocks[x.A].Name, clocks[x.B].Name
	if x.ToleratedAB.False == 0 && x.ToleratedBA.False == 0 {
		return everyMessageIsTrue
	}
	way := func(t align.Tolerated, messages int64, from, to string) string {
		if messages > int64(t.Of) {
			return fmt.Sprintf("%d of any %d consecutive messages from %s to %s", t.False, t.Of, from, to)
		}
		return fmt.Sprintf("%d of the %d messages from %s to %s", t.False, t.Of, from, to)
	}
	return fmt.Sprintf("no more are false than %s and %s", way(x.ToleratedAB, x.AB, a, b), way(x.ToleratedBA, x.BA, b, a))
}
