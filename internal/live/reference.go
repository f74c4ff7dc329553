package live

import (
	"fmt"
	"slices"
	"strings"

	alignlive "meridian/align/live"
)

// wanted reports whether the options ask for a clock as the reference.
func (s *Session) wanted(number int) bool {
	return slices.Contains(s.names(number), s.o.Align.Align.Reference)
}

// noteReference notes that the clock which was asked for as the reference joined a timeline that follows another, whose clocks had been aligned before it
// came. What was shown stays, so the timeline goes on with that one.
func (s *Session) noteReference(c *alignlive.Change) {
	if !s.wanted(c.Clock) || c.Other < 0 || c.Other == c.Clock || s.followed {
		return
	}
	if wanted := s.o.Align.Align.Reference; s.passedOver == "" {
		other := strings.Join(s.names(c.Other), "")
		s.passedOver = fmt.Sprintf("the timeline follows the clock of %s, not that of %s, whose messages came later", other, wanted)
		s.warnings.Add(wanted, "it was asked for as the reference, but the timeline follows the clock of "+other+", which was aligned before messages of this one came", "")
	}
}
