// Package filter selects from a timeline by host, row, type of event, values of fields, and interval of time or between two
// events. It also measures pairs of events against thresholds.
//
//	Record --> hosts, rows, events, where --> crop --> pairs --> the next sink
//	                                                     \--> Result of each pair
//
// In go [trace.TimelineEvent]s in the order of the timeline, each passes or does not; a [Filter] is a [trace.Sink] before
// another. Decisions about a host, a row or a type are taken once for each and looked up after that, so an event costs a
// few loads beside the conditions on its fields. Memory is that of pairs still open, at most [maxOpen] of each kind.
//
// The rows that alignment adds, ends of messages (send, receive) and bounds of clocks (clock bound), hold events like any other.
//
// The idea of pairs, named intervals and their warnings is the post-processing of KUSP (Dinkel 2013, chapter 5).
package filter

import (
	"fmt"
	"path"
	"strings"

	"meridian/clock"
	"meridian/trace"
)

// Options says what is wanted. The zero value wants all.
type Options struct {
	Hosts   []string    // patterns; see [Match]
	Streams []string    // patterns of names of rows
	Events  []string    // patterns of NAME or CATEGORY:NAME of events
	Where   []Condition // all of which must hold
	From    Edge        // what is earlier is left out
	To      Edge        // what is later is left out
	Fields  []string    // patterns of names of fields to keep; nil keeps all
	Pairs   []Pair
	// Always is the name of events that are wanted with all their fields whatever Streams, Events, Where, From, To and Fields say; "" for none.
	Always string
	// Clock returns what is known of the clock that stamped records of a host and a map of the schema, -1 for those that
	// stayed as they were recorded; it is asked when a pair's events come. Nil stands for steps of 1 ns and one component.
	Clock func(host, number int) Clock
}

// Edge is where an interval begins or ends: at an instant of the timeline or at an event. The zero value is no edge.
type Edge struct {
	Time  clock.TimelineTime // ns since 1970, with Timed
	Timed bool               // Time is meant
	Event string             // pattern of an event's name: the first such event, which itself is kept
}

// Check refuses patterns that cannot be read.
func (o *Options) Check() error {
	patterns := append(append(append(append([]string{}, o.Hosts...), o.Streams...), o.Events...), o.Fields...)
	patterns = append(patterns, o.From.Event, o.To.Event)
	for i := range o.Pairs {
		patterns = append(patterns, o.Pairs[i].Begin, o.Pairs[i].End)
	}
	for _, p := range patterns {
		if _, err := path.Match(strings.TrimPrefix(p, "!"), ""); err != nil {
			return fmt.Errorf("invalid pattern %q: %w; * stands for any text, ? for any character, [abc] for one of these", p, err)
		}
	}
	if o.From.Timed && o.To.Timed && o.To.Time < o.From.Time {
		return fmt.Errorf("the interval ends before it begins: the end of %d ns is before the start of %d ns", o.To.Time, o.From.Time)
	}
	for i := range o.Pairs {
		if err := o.Pairs[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// Match reports whether something of one or several names is wanted by patterns in the manner of the shell: * and ? stand
// for anything, and a pattern that begins with ! leaves out what it matches; of several that match, the last decides.
// Where all patterns leave out, or there is none, what none matches is wanted.
func Match(patterns []string, names ...string) bool {
	wanted := true
	for _, p := range patterns {
		wanted = wanted && strings.HasPrefix(p, "!")
	}
	for _, p := range patterns {
		p, leave := strings.CutPrefix(p, "!")
		for _, name := range names {
			if ok, _ := path.Match(escapeSlashes(p), escapeSlashes(name)); ok {
				wanted = !leave
				break
			}
		}
	}
	return wanted
}

// escapeSlashes makes * match over slashes too: names are no paths.
func escapeSlashes(s string) string { return strings.ReplaceAll(s, "/", "\x01") }

// Filter is a sink before another.
type Filter struct {
	o       Options
	schema  *trace.Schema
	out     *trace.Schema
	next    trace.Sink
	streams []verdict // by row: whether host and row are wanted
	classes []class
	started bool
	ended   bool
	pairs   []pairing
	buffer  []trace.Value
	scratch []byte
	came    []bool // by class: there were such events, selected or not
	met     bool   // an event met all of Where
	Passed  int64  // records that passed
	Dropped int64
}

type verdict uint8

const (
	undecided verdict = iota
	wanted
	unwanted
	always
)

// class is what was decided about a type of events.
type class struct {
	verdict    verdict
	from, to   bool
	conditions []fieldPath // of each condition's field
	keep       []int       // fields to keep, with Options.Fields
	roles      []role      // by pair
}

// New returns a filter of records that refer to a schema, which may grow while they come. Options were checked.
func New(schema *trace.Schema, o Options) *Filter {
	f := &Filter{o: o, schema: schema, out: schema, started: o.From.Event == ""}
	if o.Fields != nil {
		copied := *schema
		copied.Classes = nil
		f.out = &copied
		f.thin()
	}
	for i := range o.Pairs {
		f.pairs = append(f.pairs, newPairing(&f.o.Pairs[i]))
	}
	return f
}

// Schema returns the schema of the records that the filter hands on: that of those it is given, but for fields that are
// left out.
func (f *Filter) Schema() *trace.Schema { return f.out }

// To sets the sink that records are written to. It is called before the first Write.
func (f *Filter) To(next trace.Sink) { f.next = next }

// Write hands a record on if it is wanted.
func (f *Filter) Write(r *trace.TimelineEvent) error {
	for len(f.came) <= r.Class {
		f.came = append(f.came, false)
	}
	f.came[r.Class] = true
	c := f.class(r.Class)
	if c.verdict == always && Match(f.o.Hosts, f.schema.Hosts[r.Host]) {
		f.Passed++
		f.out.Streams = f.schema.Streams
		return f.next.Write(r)
	}
	if f.ended || f.o.From.Timed && r.Time < f.o.From.Time || f.o.To.Timed && r.Time > f.o.To.Time {
		f.Dropped++
		return nil
	}
	if f.stream(r.Stream) == unwanted {
		f.Dropped++
		return nil
	}
	if c.verdict == unwanted || !f.holds(c, r) {
		// An edge is an edge even where its own type is not wanted.
		f.cross(c, r)
		f.Dropped++
		return nil
	}
	f.met = true
	inside := f.cross(c, r)
	if !inside {
		f.Dropped++
		return nil
	}
	f.Passed++
	if err := f.pair(c, r); err != nil {
		return err
	}
	if f.out == f.schema {
		return f.next.Write(r)
	}
	f.out.Streams = f.schema.Streams
	less := *r
	less.Values = f.selectFields(c, r)
	return f.next.Write(&less)
}

// Close ends the pairs and closes the next sink.
func (f *Filter) Close() error {
	for i := range f.pairs {
		f.pairs[i].end(f.schema)
	}
	return f.next.Close()
}

// cross takes account of edges that are events, and reports whether the record lies between them, edges included.
func (f *Filter) cross(c *class, r *trace.TimelineEvent) (inside bool) {
	if !f.started && c.from {
		f.started = true
		return true
	}
	inside = f.started
	if f.started && c.to {
		f.ended = true
	}
	return inside
}

// Found reports whether the events that begin and end the interval were met; true for an edge that is not an event.
func (f *Filter) Found() (from, to bool) {
	return f.started, f.o.To.Event == "" || f.ended
}

func (f *Filter) stream(i int) verdict {
	for len(f.streams) <= i {
		f.streams = append(f.streams, undecided)
	}
	if f.streams[i] == undecided {
		s := &f.schema.Streams[i]
		switch {
		case !Match(f.o.Hosts, s.Host), !Match(f.o.Streams, s.Name):
			f.streams[i] = unwanted
		default:
			f.streams[i] = wanted
		}
	}
	return f.streams[i]
}

func (f *Filter) class(i int) *class {
	for len(f.classes) <= i {
		f.classes = append(f.classes, class{})
	}
	if i >= len(f.out.Classes) {
		f.thin()
	}
	c := &f.classes[i]
	if c.verdict != undecided {
		return c
	}
	of := &f.schema.Classes[i]
	c.verdict = unwanted
	if f.o.WantsClass(of) {
		c.verdict = wanted
	}
	if f.o.Always != "" && of.Name == f.o.Always {
		c.verdict = always
	}
	c.from, c.to = f.o.From.Event != "" && MatchClass([]string{f.o.From.Event}, of), f.o.To.Event != "" && MatchClass([]string{f.o.To.Event}, of)
	for k := range f.o.Where {
		c.conditions = append(c.conditions, find(of.Fields, f.o.Where[k].Field))
	}
	for k := range f.o.Pairs {
		c.roles = append(c.roles, f.o.Pairs[k].role(of))
	}
	for k := range of.Fields {
		if Match(f.o.Fields, of.Fields[k].Name) {
			c.keep = append(c.keep, k)
		}
	}
	return c
}

// WantsClass reports whether events of a type can be wanted, by its names.
func (o *Options) WantsClass(c *trace.Class) bool { return MatchClass(o.Events, c) }

// MatchClass matches a type of events by its name, by CATEGORY:NAME, and where the name itself is PROVIDER:NAME, as
// LTTng's and our sensors' are, by what is behind the colon.
func MatchClass(patterns []string, c *trace.Class) bool {
	names := []string{c.Name}
	if _, short, ok := strings.Cut(c.Name, ":"); ok {
		names = append(names, short)
	}
	if c.Category != "" {
		names = append(names, c.Category+":"+c.Name)
	}
	return Match(patterns, names...)
}

// thin enters the classes that are not yet in the schema of what is handed on, with the fields that are kept.
func (f *Filter) thin() {
	for i := len(f.out.Classes); i < len(f.schema.Classes); i++ {
		of := &f.schema.Classes[i]
		less := trace.Class{Name: of.Name, Category: of.Category}
		for k := range of.Fields {
			if !Match(f.o.Fields, of.Fields[k].Name) && (f.o.Always == "" || of.Name != f.o.Always) {
				continue
			}
			less.Fields = append(less.Fields, of.Fields[k])
			if k >= len(of.Fields)-of.Context {
				less.Context++
			}
		}
		f.out.Classes = append(f.out.Classes, less)
	}
}

// selectFields returns the fields of a record that are kept.
func (f *Filter) selectFields(c *class, r *trace.TimelineEvent) []trace.Value {
	f.buffer = f.buffer[:0]
	for _, i := range c.keep {
		if i < len(r.Values) {
			f.buffer = append(f.buffer, r.Values[i])
		} else {
			f.buffer = append(f.buffer, trace.Value{})
		}
	}
	return f.buffer
}
