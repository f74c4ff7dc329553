package demo

import (
	"fmt"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/sim"
	"meridian/trace"
)

// truth is the result held against what really was.
type truth struct {
	Messages int64         `json:"messages"`
	Before   inversions    `json:"raw"`     // by the hosts' own clocks
	After    inversions    `json:"aligned"` // on the timeline
	Worst    *worstMessage `json:"worst"`   // the most inverted by the hosts' own clocks; null if none is
	Hosts    []hostTruth   `json:"hosts"`
}

// inversions are messages that arrive before they were sent.
type inversions struct {
	Inversions int64 `json:"inversions"`
	WorstNs    int64 `json:"worst_ns"` // how long before
}

func (v *inversions) add(sent, received int64) {
	if early := int64(sent - received); early > 0 {
		v.Inversions++
		v.WorstNs = max(v.WorstNs, early)
	}
}

// worstMessage is one message as the clocks, the timeline and the truth have it.
type worstMessage struct {
	From        string         `json:"from"`
	To          string         `json:"to"`
	SentNs      clock.HostTime `json:"sent_ns"`     // by the sender's clock
	ReceivedNs  clock.HostTime `json:"received_ns"` // by the receiver's
	DelayNs     int64          `json:"delay_ns"`    // on the timeline
	TrueDelayNs int64          `json:"true_delay_ns"`
}

// hostTruth is one host's clock against the reference's, as it was and as it was estimated.
type hostTruth struct {
	Name          string   `json:"name"`
	OffsetNs      int64    `json:"offset_ns"` // this host's clock minus the reference's at the middle of its stamps
	OffsetErrorNs int64    `json:"offset_error_ns"`
	SkewPPM       float64  `json:"skew_ppm"`
	SkewErrorPPM  *float64 `json:"skew_error_ppm"` // null if the messages did not determine the skew
	WorstErrorNs  int64    `json:"worst_error_ns"` // over its stamps
	BoundNs       *int64   `json:"bound_ns"`
	Inside        int64    `json:"inside"` // stamps whose truth lies within its bounds
	Stamps        int64    `json:"stamps"`
}

// judge holds a report against the hosts' clocks. It believes nothing but the report's maps and the lists.
func judge(r *show.Report, lists []*trace.List, clocks []wrongClock) (*truth, error) {
	var reference *sim.Clock
	truth := &truth{}
	hosts := make(map[string]*judgedHost)
	for _, c := range clocks {
		h := &judgedHost{clock: c.sim()}
		h.Name = c.Name
		for i := range r.Hosts {
			if r.Hosts[i].Name == c.Name {
				h.report, h.timeline = &r.Hosts[i], r.Hosts[i].ClockMap()
			}
		}
		if h.report == nil {
			return nil, fmt.Errorf("demo: host %s is missing in the alignment", c.Name)
		}
		if c.Name == r.Reference {
			reference = &h.clock
		}
		hosts[c.Name] = h
	}
	if reference == nil {
		return nil, fmt.Errorf("demo: unknown reference host %q in the alignment", r.Reference)
	}
	for _, l := range lists {
		for _, ch := range l.Channels {
			from, to := hosts[l.Hosts[ch.From]], hosts[l.Hosts[ch.To]]
			if from == nil || to == nil {
				return nil, fmt.Errorf("%s: messages from %s to %s, which are not both hosts of the demo", l.File, l.Hosts[ch.From], l.Hosts[ch.To])
			}
			for _, m := range ch.Messages {
				truth.message(from, to, m)
				from.stamp(m.Sent, reference)
				to.stamp(m.Received, reference)
			}
		}
	}
	for _, c := range clocks {
		truth.Hosts = append(truth.Hosts, hosts[c.Name].sum(reference, c.SkewPPM))
	}
	return truth, nil
}

// message counts a message before and after.
func (t *truth) message(from, to *judgedHost, m trace.Message) {
	t.Messages++
	before := t.Before.WorstNs
	sent, received := from.timeline.At(m.Sent), to.timeline.At(m.Received)
	t.Before.add(int64(m.Sent), int64(m.Received))
	t.After.add(int64(sent), int64(received))
	if t.Before.WorstNs > before {
		t.Worst = &worstMessage{from.Name, to.Name, m.Sent, m.Received, int64(received - sent),
			int64(to.clock.Inverse(m.Received) - from.clock.Inverse(m.Sent))}
	}
}

// judgedHost gathers what is found of one host.
type judgedHost struct {
	hostTruth
	clock       sim.Clock
	timeline    clock.Map
	report      *show.Host
	first, last clock.HostTime // of its stamps
}

// stamp holds one stamp against the truth: what the reference's clock showed when it was taken.
func (h *judgedHost) stamp(t clock.HostTime, reference *sim.Clock) {
	if h.Stamps == 0 {
		h.first, h.last = t, t
	}
	h.first, h.last = min(h.first, t), max(h.last, t)
	h.Stamps++
	really := clock.TimelineTime(reference.At(h.clock.Inverse(t)))
	low, high, lowOK, highOK := h.timeline.Bounds(t)
	if lowOK && highOK && low <= really && really <= high {
		h.Inside++
	}
	off := int64(h.timeline.At(t) - really)
	h.WorstErrorNs = max(h.WorstErrorNs, off, -off)
}

// sum compares offset and skew at the middle of the host's stamps, where the report gives them.
func (h *judgedHost) sum(reference *sim.Clock, skew float64) hostTruth {
	middle := h.first + clock.HostTime(int64(h.last-h.first)/2)
	h.OffsetNs = int64(middle - reference.At(h.clock.Inverse(middle)))
	h.OffsetErrorNs = int64(middle) - int64(h.timeline.At(middle)) - h.OffsetNs
	// The host's rate over the reference's.
	h.SkewPPM = (skew - reference.SkewPPM) / (1 + 1e-6*reference.SkewPPM)
	if s := h.report.SkewPPM; s != nil {
		off := *s - h.SkewPPM
		h.SkewErrorPPM = &off
	}
	h.BoundNs = h.report.BoundNs
	return h.hostTruth
}

// broken returns what keeps the demo from having proved its point, beside the promises that alignment could not keep.
func (t *truth) broken(promises []string, stepped bool) []string {
	var reasons []string
	for _, h := range t.Hosts {
		if out := h.Stamps - h.Inside; out > 0 {
			reasons = append(reasons, fmt.Sprintf("the truth of %d of %s's %d stamps lies outside their bounds", out, h.Name, h.Stamps))
		}
	}
	if n := t.After.Inversions; n > 0 && len(promises) == 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d messages still arrive before they were sent", n, t.Messages))
	}
	reasons = append(reasons, promises...)
	if len(reasons) > 0 && stepped {
		reasons = append(reasons, "this machine's clock was set meanwhile, so run the demo again")
	}
	return reasons
}
