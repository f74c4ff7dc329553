package show

import (
	"fmt"
	"io"
)

// Evaluation says how well traces are synchronised: by one method, or by each of several on the same messages.
type Evaluation struct {
	Reference string     `json:"reference"`
	Methods   []Measured `json:"methods"`
	Warnings  []string   `json:"warnings"`
}

// Measured is what one method came to. Times are ns.
type Measured struct {
	Method string `json:"method"`
	// Refused says why the method does nothing with this input; the rest is empty then.
	Refused    string  `json:"refused,omitempty"`
	Network    string  `json:"network,omitempty"`    // the strategy by which pairs became one time base
	Assumption string  `json:"assumption,omitempty"` // under which its bounds are strict
	ElapsedNs  int64   `json:"elapsed_ns"`           // alignment alone, without reading and matching
	Repair     *Repair `json:"repair"`               // of what the method left inverted; null if none was asked for
	Quality
	// UnboundedEvents are those of the messages' ends that nothing bounds on one side; BoundNs is null if there are any.
	UnboundedEvents int64 `json:"unbounded_events"`
	// Error2SDNs is twice the median over hosts of the standard deviation that the estimate gives itself, half the
	// asymmetry of the least delays apart; null where the method has none.
	Error2SDNs *float64 `json:"error_2sd_ns"`
	// Broadcasts is how far apart the first and the last reception of each broadcast lie; null without any. BroadcastPairs
	// are the differential delays of every two receivers, with their signs.
	Broadcasts     *Differential      `json:"broadcasts"`
	BroadcastPairs []PairDifferential `json:"broadcast_pairs"`
	Directions     []Direction        `json:"directions"`
	Regression     []PairLine         `json:"regression"` // of the methods that regress
	Hosts          []MeasuredHost     `json:"hosts"`
	Truth          *Deviation         `json:"truth"` // all hosts together; null where it is not known
}

// Direction is the messages from one clock to another. TooFast counts those faster than MinDelayNs. Source is the origin
// of MinDelayNs: "truth", or "exchange" for half of the quickest round trip. Without MinDelayNs it counts those received
// before they were sent.
type Direction struct {
	From                        string `json:"from"`
	To                          string `json:"to"`
	Messages                    int64  `json:"messages"`
	Inversions                  int64  `json:"inversions"`
	InversionsBeyondGranularity int64  `json:"inversions_beyond_granularity"`
	TooFast                     int64  `json:"too_fast"`
	QuickestNs                  *int64 `json:"quickest_ns"`
	MinDelayNs                  *int64 `json:"min_delay_ns"`
	Source                      string `json:"min_delay_source,omitempty"`
}

// MeasuredHost is one clock: its bound over its messages' ends, and its error where the truth is known.
type MeasuredHost struct {
	Name            string     `json:"name"`
	Reference       string     `json:"reference"`
	BoundNs         BoundRange `json:"bound_ns"`
	UnboundedEvents int64      `json:"unbounded_events"`
	OutsideEvents   int64      `json:"outside_events"` // at which the estimate lies outside of the bounds
	OutsideNs       int64      `json:"outside_ns"`     // by how much at most
	Truth           *Deviation `json:"truth"`
}

// Differential is how far apart broadcasts were received.
type Differential struct {
	Broadcasts  int64   `json:"broadcasts"`
	MinNs       int64   `json:"min_ns"`
	MaxNs       int64   `json:"max_ns"`
	MeanNs      float64 `json:"mean_ns"`
	DeviationNs float64 `json:"sd_ns"`
}

// PairDifferential is the broadcasts that two clocks received: the reception on B less that on A.
type PairDifferential struct {
	A string `json:"a"`
	B string `json:"b"`
	Differential
}

// Deviation is the error against the truth. What is null is not known.
type Deviation struct {
	RMSNs          float64  `json:"rms_ns"`
	MaxNs          float64  `json:"max_ns"`
	CentredRMSNs   float64  `json:"centred_rms_ns"` // less the mean over time
	CentredMaxNs   float64  `json:"centred_max_ns"`
	SymmetricRMSNs *float64 `json:"symmetric_rms_ns"` // less half the asymmetry of the least delays; of two hosts alone
	SymmetricMaxNs *float64 `json:"symmetric_max_ns"`
	AsymmetryNs    *float64 `json:"asymmetry_ns"` // what was taken off, its mean over time
	Within         *float64 `json:"within"`       // share of the time at which the bounds hold the truth
	Always         *bool    `json:"always"`
	WidthMedianNs  *int64   `json:"width_median_ns"`
	WidthP95Ns     *int64   `json:"width_p95_ns"`
	RoundTripNs    *int64   `json:"round_trip_ns"` // the least to the reference and back, in truth
	RatioMedian    *float64 `json:"width_median_per_round_trip"`
	RatioP95       *float64 `json:"width_p95_per_round_trip"`
}

// Write writes the evaluation as indented JSON.
func (e *Evaluation) Write(w io.Writer) error {
	c := *e
	c.Methods = append([]Measured{}, e.Methods...)
	for i := range c.Methods {
		m := &c.Methods[i]
		m.Error2SDNs = finite(m.Error2SDNs)
		m.Directions, m.Hosts = append([]Direction{}, m.Directions...), append([]MeasuredHost{}, m.Hosts...)
		m.BroadcastPairs = append([]PairDifferential{}, m.BroadcastPairs...)
		m.Regression = append([]PairLine{}, m.Regression...)
		for k := range m.Regression {
			m.Regression[k].Line = m.Regression[k].complete()
		}
	}
	c.Warnings = append([]string{}, e.Warnings...)
	out := indented(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(&c); err != nil {
		return fmt.Errorf("evaluation: %w", err)
	}
	return nil
}
