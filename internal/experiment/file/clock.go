package file

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of wrong clocks. Beyond maxFast an alignment may take them for broken.
const (
	maxAhead = 24 * time.Hour
	maxFast  = 400 // ppm
)

// clockKey reads a key of the table "clock", which checks have too.
func (r *reader) clockKey(c *Clock, what, key string, v *node) {
	switch key {
	case "ahead":
		d, err := time.ParseDuration(v.text)
		if v.kind != scalar || err != nil || d.Abs() > maxAhead {
			r.problem(v.at, "%s: got %s, want a time such as 3s or -20ms, %v at most", what, v.what(), maxAhead)
			return
		}
		c.Ahead = d
	case "fast":
		text, unit := strings.CutSuffix(v.text, "ppm")
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if v.kind != scalar || !unit || err != nil || !(math.Abs(f) <= maxFast) {
			r.problem(v.at, "%s: got %s, want a rate such as 40ppm or -2.5ppm, %d ppm at most", what, v.what(), maxFast)
			return
		}
		c.Fast = f
	}
}

// oneHost reads the name of a host.
func (r *reader) oneHost(v *node, what string, run *Run) string {
	if all := r.someHosts(v, what, run.hostNames()); len(all) == 1 {
		return all[0]
	} else if len(all) > 1 {
		r.problem(v.at, "%s: want one host", what)
	}
	return ""
}

// packetsWithWrongClock refuses to record packets of a host with a wrong clock: the stamps of packets are true.
func (r *reader) packetsWithWrongClock(run *Run) {
	wrong := make(map[string]bool)
	for _, h := range run.Hosts {
		wrong[h.Name] = h.Clock != Clock{}
	}
	for _, b := range run.Schedule {
		for _, p := range b.Phases {
			for _, host := range p.Hosts {
				if packets, asked := p.With["packets"]; wrong[host] && r.recorder(run, p.Daemon) && asked && packets != false {
					r.problem(p.At, "phase %s.%s: packets of %s, which has a wrong clock: want packets: false, or no clock of the host", p.Daemon, p.Phase, host)
				}
			}
		}
	}
}

// recorder reports whether a daemon is the standard one that records.
func (r *reader) recorder(run *Run, name string) bool {
	for i := range run.Daemons {
		if run.Daemons[i].Name == name {
			return run.Daemons[i].Use == "record"
		}
	}
	return false
}
