package live

// Where a clock was set ahead by more than keys of tags live, and what was recorded before is read, the other ends of its messages have been read long before:
//
//	a   20  21  22  23 ... 116         b leaps from 20 to 117: it is read on when a is at 117, or has no more
//	b   20 117 118 119                 a message from b's 117 to a's 20 says that b was set
//
// So keys do not age by the leap of a clock, nor while a host waits behind one, as long as there is room.

// goOn moves the time to what a clock has shown since its first event, ns.
func (s *Session) goOn(shown int64) {
	any, before := s.progress.any, s.time()
	s.progress.show(shown, s.elapsed())
	if leap := s.time() - before; any && leap > maxLead {
		s.keepTagsFor(leap)
		s.kept += leap
	}
}

// keepTags lets no key age by the time since the last step if a host waits behind a leap.
func (s *Session) keepTags() {
	if now := s.time(); s.leaping() && max(len(s.tags.open), len(s.numbered.open)) < maxKeys/2 {
		s.keepTagsFor(now - s.kept)
	}
	s.kept = s.time()
}

func (s *Session) keepTagsFor(ns int64) {
	s.tags.ageless += ns
	s.numbered.ageless += ns
}

// leaping reports whether a host's next stamp is far ahead of those before, and of several hosts.
func (s *Session) leaping() bool {
	for _, in := range s.inputs {
		if in.has && in.apart && !s.alone {
			return true
		}
	}
	return false
}
