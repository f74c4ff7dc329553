package main

import (
	"regexp"
	"slices"
	"strings"
)

// shrink makes a failing world smaller while it fails in the same way, in at most tries runs, and returns the smallest.
func shrink(w *World, v *Verdict, tries int, run func(*World) *Verdict) (*World, *Verdict) {
	s := &shrinker{world: w, verdict: v, tries: tries, run: run}
	for {
		before := s.tries
		changed := s.hosts()
		changed = s.messages() || changed
		changed = s.features() || changed
		if !changed || s.tries <= 0 || before == s.tries {
			return s.world, s.verdict
		}
	}
}

type shrinker struct {
	world   *World
	verdict *Verdict
	tries   int
	run     func(*World) *Verdict
}

// accept takes a smaller world if it fails as the first did: an event outside stays one.
func (s *shrinker) accept(w *World) bool {
	if s.tries <= 0 {
		return false
	}
	s.tries--
	v := s.run(w)
	if v == nil || !v.fails(w) || wordsOf(v.Fault) != wordsOf(s.verdict.Fault) {
		return false
	}
	s.world, s.verdict = w, v
	return true
}

// wordsOf is a fault without its figures and hosts.
func wordsOf(fault string) string {
	return strings.Join(regexp.MustCompile("[A-Za-z]{3,}").FindAllString(fault, 4), " ")
}

// messages leaves out runs of messages, long ones first. Where clocks break the assumption it is messages that show it, so that none
// may be left out but at the beginning and at the end: the failure would become one that nothing shows.
func (s *shrinker) messages() bool {
	changed := false
	thin := s.world.Kept || s.verdict.Fault != ""
	for size := len(s.world.Messages) / 2; size >= 1; size /= 2 {
		for at := 0; at < len(s.world.Messages) && len(s.world.Messages) > 2; {
			if !thin && at > 0 {
				at = max(at, len(s.world.Messages)-size)
			}
			w := s.world.clone()
			w.Messages = slices.Delete(w.Messages, at, min(at+size, len(w.Messages)))
			if s.accept(w) {
				changed = true
			} else {
				at += size
			}
			if s.tries <= 0 {
				return changed
			}
		}
	}
	if len(s.world.Lone) > 0 {
		w := s.world.clone()
		w.Lone = nil
		changed = s.accept(w) || changed
	}
	for size := len(s.world.Lone) / 2; size >= 1; size /= 2 {
		for at := 0; at < len(s.world.Lone) && s.tries > 0; {
			w := s.world.clone()
			w.Lone = slices.Delete(w.Lone, at, min(at+size, len(w.Lone)))
			if s.accept(w) {
				changed = true
			} else {
				at += size
			}
		}
	}
	return changed
}

// hosts leaves out all that a host sent and received; the host stays as a name without a recording.
func (s *shrinker) hosts() bool {
	changed := false
	for i := range s.world.Hosts {
		w := s.world.clone()
		w.Messages = slices.DeleteFunc(w.Messages, func(m Message) bool { return m.From == i || m.To == i })
		w.Lone = slices.DeleteFunc(w.Lone, func(l Lone) bool { return l.Host == i })
		if len(w.Messages)+len(w.Lone) == len(s.world.Messages)+len(s.world.Lone) || len(w.Messages) == 0 {
			continue
		}
		changed = s.accept(w) || changed
	}
	return changed
}

// features leaves out parts of clocks, options and peculiarities of recording. All of it keeps the assumption where it was kept.
func (s *shrinker) features() bool {
	changed := false
	try := func(change func(*World) bool) {
		w := s.world.clone()
		if change(w) {
			changed = s.accept(w) || changed
		}
	}
	for k := len(s.world.Options) - 2; k >= 0; k -= 2 {
		if s.world.Kept && (s.world.Options[k] == "--wander" || s.world.Options[k] == "--epsilon") {
			continue // without it the world may no longer keep what is assumed
		}
		try(func(w *World) bool { w.Options = slices.Delete(w.Options, k, k+2); return true })
	}
	for i := range s.world.Hosts {
		for k := len(s.world.Hosts[i].Clock.Terms) - 1; k >= 0; k-- {
			try(func(w *World) bool {
				w.Hosts[i].Clock.Terms = slices.Delete(w.Hosts[i].Clock.Terms, k, k+1)
				return true
			})
		}
		for k := range s.world.Hosts[i].Clock.Terms {
			try(func(w *World) bool { // one constant rate
				t := &w.Hosts[i].Clock.Terms[k]
				simple := len(t.Knots) <= 1
				if !simple {
					t.Knots = []Knot{{Rate: t.Knots[0].Rate}}
				}
				return !simple
			})
		}
		try(func(w *World) bool { set := w.Hosts[i].Cut > 0; w.Hosts[i].Cut = 0; return set })
		try(func(w *World) bool { set := w.Hosts[i].Snap > 0; w.Hosts[i].Snap = 0; return set })
		try(func(w *World) bool { set := w.Hosts[i].Shuffle > 0; w.Hosts[i].Shuffle = 0; return set })
		try(func(w *World) bool {
			h := &w.Hosts[i]
			set := h.Grain != Grain{} && (w.List || h.Format != "pcap-ns")
			if h.Grain = (Grain{}); !w.List {
				h.Format = "pcap-ns"
			}
			return set
		})
	}
	try(func(w *World) bool {
		set := !w.List && len(w.Lone) == 0
		for i := range w.Messages {
			set = set && w.Messages[i].Lost == ""
		}
		for i := range w.Hosts { // a file says in which steps it counts, a list does not
			set = set && w.Hosts[i].Cut == 0 && w.Hosts[i].Grain == Grain{}
		}
		w.List, w.Digits = true, 9
		return set
	})
	return changed
}
