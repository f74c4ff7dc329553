package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"meridian/clock"
)

// ReportVersion is that of the report's format. Fields that are added do not change it: what is there keeps its name and meaning.
const ReportVersion = 1

// Report is the alignment report: what was aligned, how, and how sure it is. Times are int64 ns; a null bound means that
// nothing bounds that side, a null skew that the messages do not determine it.
type Report struct {
	Version    int    `json:"version"` // [ReportVersion]
	Reference  string `json:"reference"`
	Method     string `json:"method"`
	Network    string `json:"network"`    // the strategy by which pairs became one time base; "" where a method needs none
	Assumption string `json:"assumption"` // under which low_ns and high_ns are strict
	// WanderPPBS (ppb a second) and EpsilonNs are that assumption in numbers, null where clocks are taken for linear.
	WanderPPBS *float64 `json:"wander_ppb_s"`
	EpsilonNs  *float64 `json:"epsilon_ns"`
	// MaxSkewPPM is the greatest skew of two clocks that is assumed, null where it is left open.
	MaxSkewPPM *float64 `json:"max_skew_ppm"`
	Repair     *Repair  `json:"repair"` // of what the method left inverted; null if none was asked for
	Steps      []Step   `json:"steps"`  // of clocks that were set
	Routes     []Route  `json:"routes"` // of which the least delay changed
	// FalseMessages contradict all others between their hosts, so their timestamps or their match are wrong. They were
	// left out.
	FalseMessages []FalseMessage `json:"false_messages"`
	Hosts         []Host         `json:"hosts"`
	Pairs         []Pair         `json:"pairs"`
	Quality       Quality        `json:"quality"`
	// Premises are what the bounds rest on beside the assumption about clocks; it names those that nothing tests.
	Premises []Premise `json:"premises,omitempty"`
	Warnings []string  `json:"warnings"`
	Memory   *Memory   `json:"memory,omitempty"` // nil where the run's limit was to be kept
}

// Memory is about how much memory a run takes that cannot keep to its limit, and for what, bytes.
type Memory struct {
	Limit  int64 `json:"limit_bytes"`
	Needed int64 `json:"needed_bytes"`
	Flows  int64 `json:"flows_bytes"` // of captures
	Marks  int64 `json:"marks_bytes"` // ends of messages in recordings, with spans
	Lists  int64 `json:"lists_bytes"` // messages of lists
}

// Host is one clock of the report.
type Host struct {
	Name      string   `json:"name"`
	Component int      `json:"component"` // hosts of one component share a timeline
	Reference string   `json:"reference"` // the host whose clock this component follows
	Addresses []string `json:"addresses"`
	Events    int64    `json:"events"`
	// GranularityNs is the step of its stamps: an event happened less than a step after the instant that its stamp says.
	GranularityNs int64    `json:"granularity_ns"`
	OffsetNs      *int64   `json:"offset_ns"` // its clock minus the timeline's at the middle of its trace
	SkewPPM       *float64 `json:"skew_ppm"`  // rate of its clock over the timeline's, minus 1; null if undetermined
	SkewLowPPM    *float64 `json:"skew_low_ppm"`
	SkewHighPPM   *float64 `json:"skew_high_ppm"`
	BoundNs       *int64   `json:"bound_ns"` // worst error over its trace
	// BoundAllTrueNs is the same if every message is true that was not left out; null where that is not known.
	BoundAllTrueNs *int64 `json:"bound_all_true_ns"`
	// OutsideEvents are the ends of its messages at which the estimate lies outside of low_ns and high_ns, OutsideNs is the
	// greatest distance from such an estimate to them.
	OutsideEvents int64 `json:"outside_events"`
	OutsideNs     int64 `json:"outside_ns"`
	// Worst is where that error is; nil for a reference, and without a bound.
	Worst *WorstBound `json:"worst"`
	// Unaligned is all events of a host that shares no component with the report's reference, Unbounded those that nothing
	// bounds; null for none.
	Unaligned *EventRange `json:"unaligned"`
	Unbounded *EventRange `json:"unbounded"`
	Map       []Knot      `json:"map"`
	Error     []Error     `json:"error"` // statistical, beside the bounds of the map; may be empty
	// Clock says what was aligned in place of the clock that stamped; nil where that was.
	Clock *HostClock `json:"clock"`
}

// HostClock is a counter that nobody steers, to which the recorder's readings lead from stamps.
type HostClock struct {
	Kind            string `json:"kind"`              // "free"
	Counter         string `json:"counter"`           // "TSC", "CNTVCT", "MONOTONIC_RAW"
	Readings        int    `json:"readings"`          // of both clocks
	ReadingErrorNs  int64  `json:"reading_error_ns"`  // of half of them at most
	LeastErrorNs    int64  `json:"least_error_ns"`    // of what leads to the counter, part of the bounds
	GreatestErrorNs int64  `json:"greatest_error_ns"` // the same
	SlewedNs        int64  `json:"slewed_ns"`         // of the recording: slewed between two readings
}

// WorstBound is where a host's bound is worst: a reading of its clock, and how long before and after it the nearest messages
// of the host were, null for none.
type WorstBound struct {
	HostNs         clock.HostTime `json:"host_ns"`
	SinceMessageNs *int64         `json:"since_message_ns"`
	UntilMessageNs *int64         `json:"until_message_ns"`
}

// EventRange is some events of a host: how many, and the first and the last stamp.
type EventRange struct {
	Events  int64          `json:"events"`
	FirstNs clock.HostTime `json:"first_ns"`
	LastNs  clock.HostTime `json:"last_ns"`
}

// Knot is one corner of a host's clock map.
type Knot struct {
	HostNs     clock.HostTime      `json:"host_ns"`
	TimelineNs clock.TimelineTime  `json:"timeline_ns"`
	LowNs      *clock.TimelineTime `json:"low_ns"`
	HighNs     *clock.TimelineTime `json:"high_ns"`
}

// Error is the standard deviation that an estimate gives itself at an instant, half the difference of the least delays
// both ways apart, which no method can see. Between instants it is linear.
type Error struct {
	HostNs clock.HostTime `json:"host_ns"`
	SDNs   float64        `json:"sd_ns"`
}

// Step is a clock that was set: at which instant before it, ns of the host, and by how much.
type Step struct {
	Host string         `json:"host"`
	AtNs clock.HostTime `json:"at_ns"`
	ByNs int64          `json:"by_ns"`
	// StoodStill says that the clock, which ByNs has set back, showed no reading twice: it stood still for so long.
	StoodStill bool `json:"stood_still"`
}

// Route is a way between two hosts whose least delay changed: from an instant of the receiver's clock on it is longer by
// ByNs.
type Route struct {
	From string         `json:"from"`
	To   string         `json:"to"`
	AtNs clock.HostTime `json:"at_ns"`
	ByNs int64          `json:"by_ns"`
}

// Repair is what was done about messages that the method lets arrive before they were sent.
type Repair struct {
	Method     string `json:"method"`
	Inversions int64  `json:"inversions"` // repaired
	LargestNs  int64  `json:"largest_ns"` // by how much the map of a host was moved at most
	// Remaining messages still arrive before they were sent, or sooner than they can: their stamps contradict each other, or two of one
	// host are equal, which no map takes apart. RemainingNs is by how much at most.
	Remaining   int64 `json:"remaining"`
	RemainingNs int64 `json:"remaining_ns"`
}

// Pair is what two clocks that exchanged messages say about each other. Offset and skew are b's against a.
type Pair struct {
	A           string   `json:"a"`
	B           string   `json:"b"`
	MessagesAB  int64    `json:"messages_ab"`
	MessagesBA  int64    `json:"messages_ba"`
	MinRTTNs    *int64   `json:"min_rtt_ns"`
	Fit         string   `json:"fit"` // exact, fallback, one-way or absent
	OffsetNs    *int64   `json:"offset_ns"`
	SkewPPM     *float64 `json:"skew_ppm"`
	SkewLowPPM  *float64 `json:"skew_low_ppm"`
	SkewHighPPM *float64 `json:"skew_high_ppm"`
	BoundNs     *int64   `json:"bound_ns"`
	// BoundAllTrueNs is the same if every message is true that was not left out; null where that is not known.
	BoundAllTrueNs *int64 `json:"bound_all_true_ns"`
	// ToleratesAB and ToleratesBA say how many messages each way may be false without bound_ns being wrong.
	ToleratesAB Tolerated `json:"tolerates_ab"`
	ToleratesBA Tolerated `json:"tolerates_ba"`
	// Sigma is the wander of the two clocks against each other, fractional frequency per square root of a second.
	// EvidenceNats is by how many nats it explains the messages better than no wander: above six the clocks are not
	// linear.
	Sigma        *float64 `json:"sigma"`
	EvidenceNats *float64 `json:"evidence_nats"`
	Regression   []Line   `json:"regression"` // one for each segment; empty where the method is no regression
	// Stretches are the times in which the messages show that the two clocks do not keep the assumption.
	Stretches []Stretch `json:"stretches"`
}

// Tolerated says that of any so many consecutive messages one way some may be false.
type Tolerated struct {
	False int `json:"false"`
	Of    int `json:"of"`
}

// FalseMessage is a message that contradicts all others between its hosts, by their clocks.
type FalseMessage struct {
	From       string         `json:"from"`
	To         string         `json:"to"`
	SentNs     clock.HostTime `json:"sent_ns"`
	ReceivedNs clock.HostTime `json:"received_ns"`
}

// Stretch is a time, of a's clock, in which two clocks do not keep the assumption.
type Stretch struct {
	FromNs clock.HostTime `json:"from_ns"`
	ToNs   clock.HostTime `json:"to_ns"`
	// WanderPPBS is what the bounds rest on instead; null where a clock was slewed or set, and nothing limits the wander.
	WanderPPBS *float64 `json:"wander_ppb_s"`
	// Steep says that the skew is not below the greatest one that is assumed either.
	Steep bool `json:"steep"`
}

// Quality sums up the aligned messages. Inversions are messages received before they were sent on the timeline; those
// beyond granularity by more than the steps of the two stamps explain. TooFast counts messages faster than the minimum
// delay of their channel.
type Quality struct {
	Messages                    int64      `json:"messages"`
	Inversions                  int64      `json:"inversions"`
	InversionsBeyondGranularity int64      `json:"inversions_beyond_granularity"`
	TooFast                     int64      `json:"too_fast"`
	Contradicting               int64      `json:"contradicting"`  // messages that by their bounds were received before they were sent
	OutsideEvents               int64      `json:"outside_events"` // at which the estimate lies outside of the bounds
	OutsideNs                   int64      `json:"outside_ns"`     // by how much at most
	BoundNs                     BoundRange `json:"bound_ns"`
	// BoundAllTrueNs is the same if every message is true that was not left out.
	BoundAllTrueNs BoundRange `json:"bound_all_true_ns"`
}

// BoundRange is the error bound at the best and the worst event, and the mean over all events; null where some event
// is unbounded.
type BoundRange struct {
	Best  *int64 `json:"best"`
	Mean  *int64 `json:"mean"`
	Worst *int64 `json:"worst"`
}

// ClockMap returns the host's clock map as the report has it; a side with a null bound anywhere is unbounded.
func (h *Host) ClockMap() clock.Map {
	var m clock.Map
	low, high := true, true
	for _, k := range h.Map {
		m.Mid = append(m.Mid, clock.Knot{X: k.HostNs, Y: k.TimelineNs})
		if low = low && k.LowNs != nil; low {
			m.Low = append(m.Low, clock.Knot{X: k.HostNs, Y: *k.LowNs})
		}
		if high = high && k.HighNs != nil; high {
			m.High = append(m.High, clock.Knot{X: k.HostNs, Y: *k.HighNs})
		}
	}
	if !low {
		m.Low = nil
	}
	if !high {
		m.High = nil
	}
	return m
}

// Knots lists the corners of a map's three curves as the report shows them, and the map at the given instants. These are
// the ends of a trace: rounded corners need not be extended far to reach them. In the gaps nothing bounds the clock.
func Knots(m *clock.Map, gaps []clock.HostInterval, ends ...clock.HostTime) []Knot {
	hosts := make(map[clock.HostTime]bool)
	for _, at := range ends {
		hosts[at] = true
	}
	for _, g := range gaps {
		for _, at := range []clock.HostTime{clock.Add(g.First, -1), g.First, g.Last, clock.Add(g.Last, 1)} {
			hosts[at] = true
		}
	}
	for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			hosts[k.X] = true
		}
	}
	knots := make([]Knot, 0, len(hosts))
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		k := Knot{HostNs: h, TimelineNs: m.At(h)}
		if low, high, lowOK, highOK := m.Bounds(h); !lowOK || !highOK || !slices.ContainsFunc(gaps, func(g clock.HostInterval) bool { return g.Holds(h) }) {
			if lowOK {
				k.LowNs = &low
			}
			if highOK {
				k.HighNs = &high
			}
		}
		knots = append(knots, k)
	}
	return knots
}

// Write writes the report as indented JSON. Arrays are never null, and NaN and infinities are null.
func (r *Report) Write(w io.Writer) error {
	out := indented(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(r.complete()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// indented returns an encoder of JSON for people too.
func indented(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e
}

// ReadReport reads what Write wrote. Fields that it does not know are let pass: a newer Meridian may have written them. A newer version of the format is refused, since
// its fields may mean something else. A report without a version is of the time before there were any, and has the meaning of version 1.
func ReadReport(r io.Reader) (*Report, error) {
	in := json.NewDecoder(r)
	var report Report
	if err := in.Decode(&report); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, fmt.Errorf("report: extra data after the report, at offset %d", in.InputOffset())
	}
	if report.Version < 0 || report.Version > ReportVersion {
		return nil, fmt.Errorf("report: version %d of the format; this program reads version %d: take a newer one, or align the traces again", report.Version, ReportVersion)
	}
	return report.complete(), nil
}

// complete returns a copy in which no array is nil and every number is finite.
func (r *Report) complete() *Report {
	c := *r
	c.Version = ReportVersion
	c.Hosts = append([]Host{}, r.Hosts...)
	for i := range c.Hosts {
		h := &c.Hosts[i]
		h.Addresses = append([]string{}, h.Addresses...)
		h.Map = append([]Knot{}, h.Map...)
		h.Error = slices.DeleteFunc(append([]Error{}, h.Error...), func(e Error) bool { return finite(&e.SDNs) == nil })
		h.SkewPPM, h.SkewLowPPM, h.SkewHighPPM = finite(h.SkewPPM), finite(h.SkewLowPPM), finite(h.SkewHighPPM)
	}
	c.Pairs = append([]Pair{}, r.Pairs...)
	for i := range c.Pairs {
		p := &c.Pairs[i]
		p.SkewPPM, p.SkewLowPPM, p.SkewHighPPM = finite(p.SkewPPM), finite(p.SkewLowPPM), finite(p.SkewHighPPM)
		p.Sigma, p.EvidenceNats = finite(p.Sigma), finite(p.EvidenceNats)
		p.Regression = append([]Line{}, p.Regression...)
		for k := range p.Regression {
			p.Regression[k] = p.Regression[k].complete()
		}
		p.Stretches = append([]Stretch{}, p.Stretches...)
		for k := range p.Stretches {
			p.Stretches[k].WanderPPBS = finite(p.Stretches[k].WanderPPBS)
		}
	}
	c.WanderPPBS, c.EpsilonNs, c.MaxSkewPPM = finite(r.WanderPPBS), finite(r.EpsilonNs), finite(r.MaxSkewPPM)
	c.Steps, c.Routes = append([]Step{}, r.Steps...), append([]Route{}, r.Routes...)
	c.Warnings = append([]string{}, r.Warnings...)
	return &c
}

// finite returns nil for a number that JSON cannot hold: nothing is known then.
func finite(x *float64) *float64 {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return nil
	}
	return x
}
