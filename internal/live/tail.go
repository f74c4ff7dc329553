package live

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"meridian/clock"
	"meridian/format/csv"
	"meridian/format/gnuplot"
	"meridian/format/jsonl"
	"meridian/format/picl"
	"meridian/format/shm"
	"meridian/format/text"
	"meridian/internal/filter"
	"meridian/internal/pipeline/source"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/order"
	"meridian/trace"
)

// lineWriter is a sink that can hand on at once what it has.
type lineWriter interface {
	trace.Sink
	Flush() error
}

// lineFormats are what [Tail] writes. To add a format, add a line.
var lineFormats = []struct {
	name string
	open func(io.Writer, *trace.Schema, *TailOptions) (lineWriter, error)
}{
	{"text", func(w io.Writer, s *trace.Schema, _ *TailOptions) (lineWriter, error) { return text.NewWriter(w, s) }},
	{"json", func(w io.Writer, s *trace.Schema, _ *TailOptions) (lineWriter, error) { return jsonl.NewWriter(w, s) }},
	{"csv", func(w io.Writer, s *trace.Schema, _ *TailOptions) (lineWriter, error) {
		return csv.NewWriter(w, s, csv.Options{})
	}},
	{"picl", func(w io.Writer, s *trace.Schema, _ *TailOptions) (lineWriter, error) {
		return picl.NewWriter(w, s, picl.Options{Live: true})
	}},
	{"gnuplot", func(w io.Writer, s *trace.Schema, t *TailOptions) (lineWriter, error) {
		return gnuplot.NewLive(w, s, gnuplot.LiveOptions{Window: t.Window})
	}},
}

// LineFormats returns the names of the formats that [Tail] writes, the default first.
func LineFormats() (names []string) {
	for _, f := range lineFormats {
		names = append(names, f.name)
	}
	return names
}

// TailOptions say what is printed, and how.
type TailOptions struct {
	Format string        // one of LineFormats; "" is the first
	Window time.Duration // what a picture shows; 0 is the format's default
	Ring   string        // a file in shared memory that the events are written to instead of lines (format/shm)
	Size   int64         // of Ring; 0 is its default
	Select filter.Options
}

// Outcome is what became of a live run.
type Outcome struct {
	order.SorterStats
	Printed  int64 // of a tail
	LeftOut  int64 // by its filter
	Ahead    int64 // stamped far ahead of all others
	Inverted int64 // messages that are shown received before they were sent, as their bounds leave no later place; Violations are not among them
	Unplaced int64 // late events for which the format has no place
	// Unwritten events are not in the index that is to be kept, since its disk was full.
	Unwritten int64
	Lost      Loss
	// Unaligned are hosts that share no message with the first.
	Unaligned []string
	// Unbounded says of each host of whose events most have no bounds how many, and why if messages tell it.
	Unbounded []string
	// Unread are directories and captures that could not be read at the end, each with the reason.
	Unread []string
	// Set are the clocks that were set while they were followed, by their hosts: of each entry one at least. Bounds that were shown
	// before it was found may be wrong.
	Set []OneOf
	// PassedOver says which clock is the reference though another was asked for, "" if none.
	PassedOver string
	// Assumes says what bounds rest on, and whose clocks may not keep it though no message contradicts it.
	Assumes string

	hosts []string // names, by their numbers
}

// Tail prints the events of the directories as they come, one on a line or into a ring, until ctx ends, which is no error.
func Tail(ctx context.Context, o Options, t TailOptions, out io.Writer, w *trace.Warnings) (*Outcome, error) {
	if err := t.Select.Check(); err != nil {
		return nil, &usage.Error{Reason: err.Error()}
	}
	o.Messages, o.Doubts = t.messages(o.Rows), t.Format != "picl" && t.Format != "gnuplot"
	t.Select.Always = DoubtEvent
	s, err := New(o, w)
	if err != nil {
		return nil, &usage.Error{Reason: err.Error()}
	}
	f := filter.New(s.Schema(), t.Select)
	p := &printer{filter: f}
	if p.lines, err = t.open(out, f.Schema()); err != nil {
		return nil, err
	}
	p.notes, _ = p.lines.(annotator)
	f.To(p.lines)
	s.To(p)
	err = s.Run(ctx)
	if closing := f.Close(); err == nil {
		err = closing
	}
	result := s.Outcome()
	result.Printed, result.LeftOut = f.Passed, f.Dropped
	if l, ok := p.lines.(interface{ Late() int64 }); ok {
		result.Unplaced = l.Late()
	}
	return result, err
}

// messages says whether ends of messages are printed: as a part of the rows, or asked for by name. A file of PICL has no place for what is
// always late.
func (t *TailOptions) messages(rows bool) bool {
	if t.Format == "picl" {
		return false
	}
	named := slices.ContainsFunc(t.Select.Events, func(p string) bool { return !strings.HasPrefix(p, "!") })
	return rows || named && slices.ContainsFunc(source.EndpointClasses(), func(c trace.Class) bool {
		return filter.MatchClass(t.Select.Events, &c)
	})
}

// open returns what the events are written to.
func (t *TailOptions) open(out io.Writer, s *trace.Schema) (lineWriter, error) {
	if t.Ring != "" {
		return shm.Create(t.Ring, s, shm.Options{Size: t.Size})
	}
	for i, f := range lineFormats {
		if t.Format == f.name || t.Format == "" && i == 0 {
			return f.open(out, s, t)
		}
	}
	return nil, usage.Errorf("unknown format %q", t.Format)
}

// printer writes lines at the end of each step.
type printer struct {
	filter *filter.Filter
	lines  lineWriter
	notes  annotator // nil: the format has no place for notes
}

// annotator takes what was done to the next event.
type annotator interface{ Annotate(late, moved int64) }

func (p *printer) Write(e *trace.TimelineEvent, n order.Note) error {
	if p.notes != nil {
		p.notes.Annotate(int64(n.Behind), int64(n.Moved))
	}
	return p.filter.Write(e)
}

func (p *printer) Step(s *Session) error {
	if a, ok := p.lines.(interface {
		Advance(now clock.TimelineTime) error
	}); ok {
		if err := a.Advance(s.Now()); err != nil {
			return err
		}
	}
	return p.lines.Flush()
}

// Outcome returns what has become of the events. It is for the end.
func (s *Session) Outcome() *Outcome {
	s.conclude()
	s.noteUnknown()
	o := &Outcome{SorterStats: s.stats(), Ahead: s.ahead, Inverted: s.inverted, Lost: s.loss(), Set: s.set.told(), PassedOver: s.passedOver, Assumes: s.assumes(), Unbounded: s.bounding.told(s), hosts: s.rows.Hosts}
	component := -1
	for _, in := range s.inputs {
		if in.fault != nil {
			o.Unread = append(o.Unread, fmt.Sprintf("%s: %v", in.dir, in.fault))
		}
		if in.number < 0 {
			continue
		}
		if !s.alone {
			_, c := s.clocks.Maps().Map(in.number)
			if component < 0 {
				component = c
			} else if c != component {
				o.Unaligned = append(o.Unaligned, in.name)
			}
		}
	}
	return o
}

// noteUnknown warns of hosts that the options name and that no input was of, and of addresses that nothing had.
func (s *Session) noteUnknown() {
	check := func(host, what string) {
		if host != "" && !slices.ContainsFunc(s.inputs, func(in *input) bool { return in.name == host }) {
			s.warnings.Add(host, "no input is of this host: what was given as its "+what+" had no effect", "")
		}
	}
	check(s.o.Align.Align.Reference, "being the reference")
	for host := range s.o.Granularity {
		check(host, "granularity")
	}
	for host := range s.o.Addresses {
		check(host, "addresses")
	}
	if s.resumed == nil && !s.alone { // they may have been seen before; nobody looks at the packets of one input alone
		s.packets.unseen.Warn(s.warnings)
	}
}

// Reversed says how many messages are shown received before they were sent, "" for none.
func (o *Outcome) Reversed() string {
	var parts []string
	if o.Violations > 0 {
		first := ""
		if x := o.Excluded; x != nil {
			first = fmt.Sprintf(", the first by at least %s: sent by %s at %s, received by %s at %s of the timeline", show.Duration(int64(x.By)), o.hostName(x.From), show.InstantText(x.Sent), o.hostName(x.To), show.InstantText(x.Received))
		}
		parts = append(parts, fmt.Sprintf("%d messages were received before they were sent by the bounds of both ends%s: a bound or a timestamp is wrong", o.Violations, first))
	}
	if o.Inverted > 0 {
		parts = append(parts, fmt.Sprintf("%d messages are shown received before they were sent, though their bounds allow the true order", o.Inverted))
	}
	return strings.Join(parts, "; ")
}

func (o *Outcome) hostName(host int) string {
	if host < 0 || host >= len(o.hosts) {
		return fmt.Sprintf("host %d", host)
	}
	return o.hosts[host]
}

// SetText names the clocks that were set.
func (o *Outcome) SetText() string { return strings.Join(texts(o.Set), "; ") }

// Summary says in a line what became of the events that were read. Lost ones are not in it: they are a fault, which the command's error states.
func (o *Outcome) Summary() string {
	line := fmt.Sprintf("%d events", o.Emitted)
	if o.LeftOut > 0 {
		line = fmt.Sprintf("%d events, %d left out", o.Printed, o.LeftOut)
	}
	if o.Late > 0 {
		line += fmt.Sprintf(", %d late (by %v at most)", o.Late, o.GreatestLateness)
	}
	if o.Ahead > 0 {
		line += fmt.Sprintf(", %d stamped far ahead of all others", o.Ahead)
	}
	if o.Forced > 0 {
		line += fmt.Sprintf(", %d out before their time, since memory was full", o.Forced)
	}
	if o.Assumes != "" {
		line += "; " + o.Assumes
	}
	return line
}
