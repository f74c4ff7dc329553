package pipeline

import (
	"fmt"
	"time"

	"meridian/internal/show"
	"meridian/internal/steering"
	"meridian/trace"
)

// settleSteering gives the clocks of recorded hosts the map to the counter that nobody steers, where recorders stored readings
// that cover all of the clock's stamps.
func (j *joiner) settleSteering(w *trace.Warnings) {
	j.steered = make([]*steering.Map, len(j.Clocks))
	of := make(map[int][]*steering.Recorded)
	for _, x := range j.recordings {
		if x.Steering != nil && len(x.clocks) == 1 {
			of[x.clocks[0]] = append(of[x.clocks[0]], x.Steering)
		}
	}
	for i := range j.Clocks {
		c := &j.Clocks[i]
		m, err := steering.Merge(of[i])
		switch {
		case err != nil:
			w.Add(c.Name, "its clock is taken for one that may be steered: its readings cannot be used", err.Error())
		case m == nil:
		case !m.Covers(c.First, c.Last):
			w.Add(c.Name, "its clock is taken for one that may be steered: some of its stamps lie more than 2 s outside of the recorder's readings of the clocks", "")
		default:
			j.steered[i], c.Free = m, &m.PairMap
		}
	}
}

// warnOfSlews names the hosts whose clocks were slewed too fast for the readings to follow.
func (f *findings) warnOfSlews() {
	var names []string
	beyond, apart := false, int64(0)
	for i, m := range f.steered {
		if m == nil {
			continue
		}
		c := &f.Clocks[i]
		names = append(names, c.Name)
		apart = max(apart, m.Apart)
		beyond = beyond || c.First < m.First || c.Last > m.Last
		if m.Slewed > 0 {
			f.warnings.Add(c.Name, fmt.Sprintf("its clock was slewed between readings for %v: events then are known to %v only", time.Duration(m.Slewed), time.Duration(m.Most)), "")
		}
		if m.Early {
			f.warnings.Add(c.Name, "how the kernel steered its clock before it was recorded is not known, so the rate between its programs' readings is relied on there", "")
		}
		if m.Unknown {
			f.warnings.Add(c.Name, "how the kernel steered its clock is not recorded (adjtimex was forbidden), so the rates measured between readings are relied on", "")
		}
	}
	if len(names) > 0 && f.Report.Assumption != "" {
		f.Report.Assumption += fmt.Sprintf("; the clock of %s is the counter, which nobody steers, and to which stamps lead if %s", firstOf(names), steering.Words(time.Duration(apart)))
		if beyond {
			f.Report.Assumption += ", and " + steering.WordsBeyond
		}
	}
}

// hostClock returns what the report says of the clock of a host.
func (m *Matched) hostClock(i int) *show.HostClock {
	if i >= len(m.steered) || m.steered[i] == nil {
		return nil
	}
	x := m.steered[i]
	return &show.HostClock{
		Kind: "free", Counter: x.Counter, Readings: x.Readings, ReadingErrorNs: x.ReadingError,
		LeastErrorNs: x.Least, GreatestErrorNs: x.Most, SlewedNs: x.Slewed,
	}
}
