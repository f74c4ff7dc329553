package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meridian/align/bound"
	alignlive "meridian/align/live"
	"meridian/internal/show"
)

// OneOf is hosts of which one has a clock that was set, in the order of their names: one where it is known which.
type OneOf []string

// list returns the names with commas between them.
func (o OneOf) list() string { return strings.Join(o, ", ") }

func (o OneOf) String() string {
	if len(o) > 1 {
		return "one of " + strings.Join(o, ", ")
	}
	return strings.Join(o, "")
}

// settings is what is known of clocks that were set.
type settings struct {
	known []OneOf
	open  map[int]OneOf // by the number of the doubt: it is not known yet, or never will be, which it was
	bends []OneOf       // clocks that may bend by less than a message would contradict
}

func (s *settings) add(o OneOf) { s.known = withOneOf(s.known, o) }

func withOneOf(all []OneOf, o OneOf) []OneOf {
	if len(o) > 0 && !slices.ContainsFunc(all, func(x OneOf) bool { return slices.Equal(x, o) }) {
		all = append(all, o)
	}
	return all
}

// explain reports whether a clock of some hosts is known to have been set, or is asked for.
func (s *settings) explain(names OneOf) bool {
	for _, name := range names {
		if slices.ContainsFunc(s.known, func(o OneOf) bool { return len(o) == 1 && o[0] == name }) {
			return true
		}
		for _, o := range s.open {
			if slices.Contains(o, name) {
				return true
			}
		}
	}
	return false
}

// texts returns each as a message has it.
func texts(all []OneOf) (out []string) {
	for _, o := range all {
		out = append(out, o.String())
	}
	return out
}

// told returns what is known so far, the clocks that are named first.
func (s *settings) told() []OneOf {
	all := settings{known: slices.Clone(s.known)}
	for _, o := range s.open {
		all.add(o)
	}
	slices.SortFunc(all.known, func(a, b OneOf) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	return all.known
}

// conclude notes what messages tell of clocks that were set, as far as they do at the end.
func (s *Session) conclude() {
	s.clocks.Conclude()
	if maps := s.clocks.Maps(); maps.Version != s.aligned {
		s.noteSet(maps, s.aligned)
		s.aligned = maps.Version
	}
}

// noteSet notes clocks that were set, or may have been, since a version of the maps: bounds that were given before that was found may
// be wrong.
func (s *Session) noteSet(maps *alignlive.Maps, since int64) {
	const wrong = ": bounds of events that were shown before this was found, a second or two, may be wrong"
	for i := range maps.Changes {
		c := &maps.Changes[i]
		if c.Version <= since {
			continue
		}
		switch c.Kind {
		case alignlive.Joined:
			s.noteReference(c)
		case alignlive.HandedOver:
			s.followed = s.followed || s.wanted(c.Other)
		case alignlive.Stepped:
			if names := s.names(c.Clock); len(names) > 0 {
				s.set.add(names)
				s.doubtful(c, "set", names, 0)
				s.warnings.Add(names[0], "its clock was set, or did not keep the assumption"+wrong, "")
			}
		case alignlive.Bent:
			s.noteBend(c)
		case alignlive.Doubted:
			if s.set.open == nil {
				s.set.open = make(map[int]OneOf)
			}
			if _, known := s.set.open[c.Doubt]; !known {
				s.doubtful(c, "doubted", s.names(c.Among...), doubtGuard)
			}
			s.set.open[c.Doubt] = s.names(c.Among...)
		case alignlive.Named:
			delete(s.set.open, c.Doubt)
			if names := s.names(c.Clock); len(names) > 0 {
				s.set.add(names)
				s.doubtful(c, "set", names, doubtGuard)
				what := "its clock was set, or did not keep the assumption"
				if show.IsCounterWrap(c.By) {
					what = "its timestamps, or those of a host that it talks to, jump by " + show.CounterWrap
				}
				s.warnings.Add(names[0], what+wrong, "by about "+show.Duration(c.By))
			}
		case alignlive.Unnamed:
			delete(s.set.open, c.Doubt)
			s.doubtful(c, "set", s.names(c.Among...), doubtGuard)
			s.noteOneOf(s.names(c.Among...), wrong)
		}
	}
}

// noteBend notes two hosts of which a clock does not keep the assumption. If that is not sure, it is no fault yet: messages that take the same time
// always leave as much room. Bounds may be wrong then where a daemon steers the clock, and the summary says so; nobody steers a counter.
func (s *Session) noteBend(c *alignlive.Change) {
	names := s.names(c.Clock, c.Other)
	switch {
	case len(names) == 0:
	case !c.Sure:
		var free []int // clocks that may be steered
		for _, number := range []int{c.Clock, c.Other} {
			if x := s.steered[number]; x == nil || !x.following {
				free = append(free, number)
			}
		}
		s.set.bends = withOneOf(s.set.bends, s.names(free...))
	default:
		s.doubtful(c, "bent", names, 0)
		if s.set.explain(names) {
			return
		}
		s.set.add(names)
		s.warnings.Add(names.String(), "the clock does not keep the assumption, a daemon may steer it: bounds of events that were shown before this was found, some seconds, may be wrong", "")
	}
}

// assumes says what the bounds rest on, which clocks could break it unseen, and where messages leave room for that. A counter is neither set nor steered.
func (s *Session) assumes() string {
	if s.alone {
		return ""
	}
	a := s.o.Align.Align.Assumption
	if a == nil {
		a = &bound.Default
	}
	line := fmt.Sprintf("bounds assume that clocks wander by %g ppb/s at most", a.Wander)
	var plain []int
	for _, in := range s.inputs {
		if x := s.steered[in.number]; in.number >= 0 && (x == nil || !x.following) {
			plain = append(plain, in.number)
		}
	}
	if names := s.names(plain...); len(names) > 0 {
		line += ", and that nobody sets or steers the clock of " + names.list() + " by less than a round trip, which messages cannot show"
	}
	if len(s.set.bends) > 0 {
		line += "; those of " + strings.Join(texts(s.set.bends), "; ") + " leave room for it"
	}
	return line
}

// noteOneOf notes hosts of which one has a clock that was set.
func (s *Session) noteOneOf(names OneOf, wrong string) {
	if s.set.add(names); len(names) > 0 {
		s.warnings.Add(names.String(), "the clock was set, or did not keep the assumption"+wrong+"; messages do not tell which clock it was", "")
	}
}

// names returns the hosts of some clocks.
func (s *Session) names(clocks ...int) (names OneOf) {
	for _, in := range s.inputs {
		if slices.Contains(clocks, in.number) && !slices.Contains(names, in.name) {
			names = append(names, in.name)
		}
	}
	slices.Sort(names)
	return names
}
