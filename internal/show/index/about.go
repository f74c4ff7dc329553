package index

import "encoding/json"
import "meridian/clock"

// About is what the page is told before any tile, as docs/viewer.md has it. The index fills what it knows; what only a
// report knows (components, offsets, addresses, the table of pairs) is left to the viewer. Instants are ns since
// Origin unless they say otherwise.
type About struct {
	Version    int                `json:"version"`
	Title      string             `json:"title"`
	Origin     clock.TimelineTime `json:"origin,string"` // ns since 1970: the first instant
	Span       int64              `json:"span"`          // from there to the last
	Top        int                `json:"top"`           // the least level whose tile 0 covers everything
	Live       bool               `json:"live"`
	Step       int64              `json:"step"` // of stamps that came by no clock
	Hosts      []Host             `json:"hosts"`
	Clocks     []Clock            `json:"clocks"` // by the number of their map in the schema
	Rows       []Row              `json:"rows"`
	Classes    []Class            `json:"classes"` // by their number in the schema
	Links      []Link             `json:"links"`
	Events     int64              `json:"events"`
	Late       int64              `json:"late,omitempty"` // by how many ns events came late at most
	Messages   int64              `json:"messages"`
	Verdicts   [5]int64           `json:"verdicts"`           // messages by verdict
	Inverted   *int64             `json:"inverted,omitempty"` // messages received before they were sent by the recorded stamps; nil where nobody counted
	MinDelay   int64              `json:"minDelay,omitempty"` // the least delay of a message, ns
	Delays     []Histogram        `json:"delays"`
	Method     string             `json:"method"`
	Assumption string             `json:"assumption"`
	Summary    string             `json:"summary"`
	Warnings   []string           `json:"warnings"`
	Pairs      [][]string         `json:"pairs"`
	Left       []string           `json:"left"`
	Notes      []Note             `json:"notes,omitempty"`
	Against    string             `json:"against,omitempty"` // the timeline with which this one is compared
}

// Note is words at an instant of the timeline, for whoever opens it.
type Note struct {
	At   int64  `json:"at"`           // ns since the origin
	To   int64  `json:"to,omitempty"` // of a bookmark: the view's end
	Row  int    `json:"row"`          // -1: of all rows
	Text string `json:"text"`
}

// Host is a host of the timeline.
type Host struct {
	Name string `json:"name"`
	HostReport
	Events int64 `json:"events"`
}

// HostReport is what only a report knows of a host.
type HostReport struct {
	Component int      `json:"component"`
	Reference string   `json:"reference"`
	Addresses []string `json:"addresses"`
	Offset    string   `json:"offset"`
	Skew      string   `json:"skew"`
	Bound     string   `json:"bound"`
}

// Clock is what stamped: a host's clock, or an interval of it. Low and High say which sides are bounded.
type Clock struct {
	Host        int      `json:"host"`
	Component   int      `json:"component"` // its host's, unless nothing connects it with its host's others
	Set         bool     `json:"set"`       // it was set meanwhile: what it showed later may be less
	Low         bool     `json:"low"`
	High        bool     `json:"high"`
	Granularity int64    `json:"granularity"`
	Corners     []Corner `json:"corners"`
}

// Corner is one corner of a clock's bounds: at timeline instant At the true time lies from At-Below to At+Above, and the
// clock showed At+Recorded.
type Corner struct {
	At, Below, Above, Recorded int64
}

// MarshalJSON writes a corner as an array.
func (c Corner) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]int64{c.At, c.Below, c.Above, c.Recorded})
}

// UnmarshalJSON reads one.
func (c *Corner) UnmarshalJSON(b []byte) error {
	var a [4]int64
	err := json.Unmarshal(b, &a)
	c.At, c.Below, c.Above, c.Recorded = a[0], a[1], a[2], a[3]
	return err
}

// Row is a row of the timeline: a stream of the schema, without those that hold bounds of clocks.
type Row struct {
	Host   int    `json:"host"`
	Clock  int    `json:"clock"`            // of its events, of most if there are several; -1 for none
	Clocks []Run  `json:"clocks,omitempty"` // from when on its events came by which, where that changed
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	ID     int64  `json:"id"`
	Parent int    `json:"parent"` // another row; -1 for none
	Events int64  `json:"events"`
	Lanes  []Lane `json:"lanes"`
}

// Run is an interval of a row: from At to the next run, its events were stamped by Clock.
type Run struct {
	At    int64
	Clock int
}

// MarshalJSON writes a run as an array.
func (r Run) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{r.At, int64(r.Clock)}) }

// UnmarshalJSON reads one.
func (r *Run) UnmarshalJSON(b []byte) error {
	var a [2]int64
	err := json.Unmarshal(b, &a)
	r.At, r.Clock = a[0], int(a[1])
	return err
}

// Lane is a part of a row on which nothing overlaps.
type Lane struct {
	Lane     int     `json:"lane"` // its number in tiles
	Kind     string  `json:"kind"` // instants, slices or counter
	Depth    int     `json:"depth"`
	Name     string  `json:"name"` // of a counter
	Items    int64   `json:"items"`
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
}

// Class is a type of events.
type Class struct {
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Fields   []string `json:"fields"`
	Events   int64    `json:"events"`
}

// Link is the lane of the messages from one row to another.
type Link struct {
	Lane     int     `json:"lane"`
	From     int     `json:"from"`
	To       int     `json:"to"`
	Messages int64   `json:"messages"`
	Worst    Verdict `json:"worst"`
}

// Histogram counts the messages from one host to another by their delay.
type Histogram struct {
	From     int        `json:"from"`
	To       int        `json:"to"`
	Messages int64      `json:"messages"`
	Least    int64      `json:"least"`
	Greatest int64      `json:"greatest"`
	Mean     float64    `json:"mean"`
	Buckets  [][3]int64 `json:"buckets"` // the least and the greatest delay that count here, and how many did; in order
}

// Event is one event with its fields.
type Event struct {
	Event    int64          `json:"event"` // its number
	At       int64          `json:"at"`
	Late     int64          `json:"late,omitempty"`  // by how much it is shown later than it was, since later events came before it
	Recorded clock.HostTime `json:"recorded,string"` // the stamp of its host's clock, ns since 1970
	Row      int            `json:"row"`
	Clock    int            `json:"clock"` // by which it came to the timeline; -1 for none
	Class    int            `json:"class"`
	Phase    string         `json:"phase"` // instant, begin, end or counter
	Fields   [][2]string    `json:"fields"`
	Low      *int64         `json:"low,omitempty"`
	High     *int64         `json:"high,omitempty"`
	Flow     *Flow          `json:"flow,omitempty"`
	Slice    *Slice         `json:"slice,omitempty"`
}

// Flow names the two ends of a message.
type Flow struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// Slice names the two ends of a slice; -1 is an end that is not there.
type Slice struct {
	Begin int64 `json:"begin"`
	End   int64 `json:"end"`
}

// Found is an answer to a search. Next is the event after which the search is to be taken up again; -1 at the end.
type Found struct {
	Found []Hit `json:"found"`
	Next  int64 `json:"next"`
}

// Hit is one event that was searched for.
type Hit struct {
	Event int64 `json:"event"`
	At    int64 `json:"at"`
	Row   int   `json:"row"`
	Class int   `json:"class"`
}

// Violations are the messages that are not in order.
type Violations struct {
	Counts [5]int64    `json:"counts"` // of all messages, by verdict
	List   []Violation `json:"list"`   // the worst, in order of time
	Raw    *Raw        `json:"raw,omitempty"`
}

// Violation is one message that is not in order. Low and High enclose its delay, where that is bounded.
type Violation struct {
	Verdict Verdict `json:"verdict"`
	Sent    int64   `json:"sent"`
	Delay   int64   `json:"delay"`
	Low     *int64  `json:"low,omitempty"`
	High    *int64  `json:"high,omitempty"`
	From    int64   `json:"from"` // the event that sent it
	To      int64   `json:"to"`
	Link    int     `json:"link"` // its lane
}
