package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meridian/internal/pipeline/usage"
	"meridian/order"
	"meridian/order/logical"
	"meridian/trace"
)

// Logicals returns the names of the logical clocks by which events can be annotated.
func Logicals() []string { return []string{"lamport", "vector", "tree"} }

// checkLogical refuses an unknown logical clock; "" is none.
func checkLogical(name string) error {
	if name != "" && !slices.Contains(Logicals(), name) {
		return usage.Errorf("unknown logical clock %q (%s)", name, strings.Join(Logicals(), ", "))
	}
	return nil
}

// logicalTimes is the logical time of every event of a pass, before any is left out. A host is a process in Lamport's sense:
// its events happen one after the other, whatever thread has them. Only ends of messages are held; events between
// them are counted.
type logicalTimes struct {
	name    string
	hosts   []string
	field   trace.Field
	listed  []logical.Event
	host    []int   // by event of listed, which is a send or a receive
	numbers []int64 // by event of listed, for Lamport's clock
	vectors *logical.Order
	// While events pass by: the next of listed, by host the last one and how many local events came since, and the text of
	// what that one knows of other hosts.
	next    int
	last    []int
	since   []int64
	learned []string
	text    []byte
}

// messageEnd is an end of a message as it passes by. An operation's end is given by its name.
type messageEnd struct {
	host      int
	gap       int
	kind      logical.Kind
	flow      uint64
	operation string
}

// newLogicalTimes reads all events of a pass once and orders the ends of their messages.
func (o *Ordered) newLogicalTimes(ctx context.Context, kind passKind, p Progress) (*logicalTimes, error) {
	schema := o.schema()
	var w trace.Warnings // the pass that follows has the same
	sources, err := o.sources(kind, schema, &w)
	if err != nil {
		return nil, err
	}
	defer closeAll(sources)
	x := &logicalTimes{name: o.logical, hosts: schema.Hosts}
	x.field = trace.Field{Name: "lamport_time", Type: trace.Type{Kind: trace.Uint}}
	if o.logical != "lamport" {
		x.field = trace.Field{Name: "vector_time", Type: trace.Type{Kind: trace.Text}}
	}
	var ends []messageEnd
	since := make([]int, len(schema.Hosts))
	n := int64(0)
	_, err = order.Events(ctx, sources, schema, func(r *trace.TimelineEvent) error {
		if n++; n&0xffff == 0 {
			p.Report("ordering messages", n, n)
		}
		if happensNowhere(r, schema) {
			return nil
		}
		end, ok := endOf(r, &schema.Classes[r.Class])
		if !ok {
			since[r.Host]++
			return nil
		}
		end.gap, since[r.Host] = since[r.Host], 0
		ends = append(ends, end)
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.list(ends)
	switch o.logical {
	case "lamport":
		x.numbers, err = logical.Lamport(x.listed)
	case "vector":
		x.vectors, err = logical.Vector(x.listed)
	case "tree":
		x.vectors, err = logical.Tree(x.listed)
	}
	if err != nil {
		return nil, fmt.Errorf("--logical %s: %w", o.logical, err)
	}
	x.last, x.since = slices.Repeat([]int{-1}, len(x.hosts)), make([]int64, len(x.hosts))
	x.learned = make([]string, len(x.hosts))
	return x, nil
}

// happensNowhere reports whether an event was not recorded on its host: bounds are counted at even distances.
func happensNowhere(r *trace.TimelineEvent, schema *trace.Schema) bool {
	return schema.Streams[r.Stream].Kind == trace.Bounds
}

// endOf returns the end of a message that an event is, if it is one: entering a collective operation sends to all members,
// leaving it receives from them.
func endOf(r *trace.TimelineEvent, c *trace.Class) (messageEnd, bool) {
	end := messageEnd{host: r.Host, flow: r.Flow}
	switch {
	case r.Flow != 0 && r.Role == trace.Sends:
		end.kind = logical.Send
	case r.Flow != 0 && r.Role == trace.Receives:
		end.kind = logical.Receive
	case c.Category == "operations" && c.Name == "enters" && len(r.Values) > 0:
		end.kind, end.operation = logical.Send, string(r.Values[0].Data)
	case c.Category == "operations" && c.Name == "leaves" && len(r.Values) > 0:
		end.kind, end.operation = logical.Receive, string(r.Values[0].Data)
	default:
		return end, false
	}
	return end, true
}

// list makes the ends of messages the events to be ordered. A flow that is sent again is another message from then on. On the
// timeline a message may be received before it was sent; a receive of a flow that was not sent yet is of its first sending.
func (x *logicalTimes) list(ends []messageEnd) {
	type sending struct {
		flow      uint64
		operation string
		host      int // of an operation
	}
	number, sent := make(map[sending]int), make(map[int]bool)
	numberOf := func(s sending) int {
		n, known := number[s]
		if !known {
			n = len(number)
			number[s] = n
		}
		return n
	}
	next := -1 // numbers of flows that are sent again count down
	entered := make(map[string][]int)
	for _, e := range ends {
		if e.operation != "" && e.kind == logical.Send && !slices.Contains(entered[e.operation], e.host) {
			entered[e.operation] = append(entered[e.operation], e.host)
		}
	}
	for i := range ends {
		e := &ends[i]
		add := func(kind logical.Kind, s sending, gap int) {
			message := numberOf(s)
			if kind == logical.Send && sent[message] {
				message = next
				number[s] = message
				next--
			}
			if kind == logical.Send {
				sent[message] = true
			}
			x.listed, x.host = append(x.listed, logical.Event{Clock: e.host, Kind: kind, Message: message, Gap: gap}), append(x.host, e.host)
		}
		switch {
		case e.operation == "":
			add(e.kind, sending{flow: e.flow}, e.gap)
		case e.kind == logical.Send:
			add(e.kind, sending{operation: e.operation, host: e.host}, e.gap)
		default:
			gap := e.gap
			for _, host := range entered[e.operation] {
				if host != e.host {
					add(e.kind, sending{operation: e.operation, host: host}, gap)
					gap = -1
				}
			}
			if gap >= 0 { // nobody else entered
				x.listed, x.host = append(x.listed, logical.Event{Clock: e.host, Gap: gap}), append(x.host, e.host)
			}
		}
	}
}

// errChanged is the error of inputs that brought other events when they were read again.
var errChanged = errors.New("--logical: the inputs changed while they were read; give traces that are complete")

// annotate sets the field of the next event of the pass.
func (x *logicalTimes) annotate(r *trace.TimelineEvent, schema *trace.Schema) error {
	if happensNowhere(r, schema) {
		return nil
	}
	c := &schema.Classes[r.Class]
	if _, ok := endOf(r, c); ok {
		if x.next >= len(x.listed) || x.host[x.next] != r.Host {
			return errChanged
		}
		for x.next++; x.next < len(x.listed) && x.listed[x.next].Gap < 0; { // the same event
			x.next++
		}
		x.last[r.Host], x.since[r.Host] = x.next-1, 0
		x.learned[r.Host] = x.others(x.next-1, r.Host)
	} else {
		x.since[r.Host]++
	}
	at := len(c.Fields) - c.Context - 1
	if at < 0 || at >= len(r.Values) || c.Fields[at].Name != x.field.Name {
		return nil // an event without fields of its class
	}
	last, since := x.last[r.Host], x.since[r.Host]
	if x.vectors == nil {
		if last >= 0 {
			since += x.numbers[last]
		}
		r.Values[at] = trace.OfUint(uint64(since))
		return nil
	}
	if last >= 0 {
		since += int64(x.vectors.At(last)[r.Host])
	}
	x.text = append(appendName(x.text[:0], x.hosts[r.Host]), ':')
	x.text = append(strconv.AppendInt(x.text, since, 10), x.learned[r.Host]...)
	r.Values[at] = trace.Value{Kind: trace.Text, Data: x.text}
	return nil
}

// others writes what an event knows of other hosts than its own: those of which it knows nothing are left out, so that hosts
// that come and go cost nothing where they are not heard of.
func (x *logicalTimes) others(event, host int) string {
	if x.vectors == nil {
		return ""
	}
	var b []byte
	for other, known := range x.vectors.At(event) {
		if known > 0 && other != host {
			b = append(appendName(append(b, ' '), x.hosts[other]), ':')
			b = strconv.AppendInt(b, int64(known), 10)
		}
	}
	return string(b)
}

// appendName writes a host's name, quoted if it would not end where it ends.
func appendName(b []byte, name string) []byte {
	if name == "" || strings.ContainsAny(name, " :\"\\") || strconv.Quote(name) != `"`+name+`"` {
		return strconv.AppendQuote(b, name)
	}
	return append(b, name...)
}

// annotated is a source whose classes have one more field behind those of the program, for the logical time.
type annotated struct {
	trace.Source
	field   trace.Field
	classes []trace.Class
	class   int // of the last event
	values  []trace.Value
}

func (a *annotated) Classes() []trace.Class {
	known := a.Source.Classes()
	for _, c := range known[len(a.classes):] {
		at := len(c.Fields) - c.Context
		c.Fields = slices.Insert(slices.Clone(c.Fields), at, a.field)
		a.classes = append(a.classes, c)
	}
	return a.classes
}

func (a *annotated) Next(e *trace.Event) error {
	err := a.Source.Next(e)
	a.class = e.Class
	return err
}

func (a *annotated) Values() []trace.Value {
	values := a.Source.Values()
	classes := a.Source.Classes()
	if a.class < 0 || a.class >= len(classes) {
		return values
	}
	at := len(classes[a.class].Fields) - classes[a.class].Context
	a.values = append(a.values[:0], values[:min(at, len(values))]...)
	for len(a.values) < at { // what is missing is absent
		a.values = append(a.values, trace.Value{})
	}
	a.values = append(a.values, trace.Value{})
	if at < len(values) {
		a.values = append(a.values, values[at:]...)
	}
	return a.values
}
