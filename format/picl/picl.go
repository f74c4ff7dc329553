// Package picl writes a timeline as a PICL trace, the text format that ParaGraph and other viewers of message passing
// programs read. In go records, out come lines of numbers (Worley 1992, ORNL/TM-12125):
//
//	record event  seconds    node task  fields [type  values...]
//	-3     -901   0.000000000  0   0    0                          node 0 begins
//	-3     -911   0.000000000  0   0    5 "%d %s %s %s %s" 18 event 7 is request   a text: its length, its words
//	-3     7      0.001230000  0   2    1 2 512                    a slice begins: its class, its numbers
//	-3     -21    0.001230000  0   2    4 2 512 77 1 0             a message of 512 bytes, tag 77, to node 1, task 0
//	-4     -21    0.001230000  0   2    0
//	-4     -52    0.001410000  1   0    4 2 512 77 0 2             and its arrival, from node 0, task 2
//	-4     7      0.002000000  0   2    0                          the slice ends
//	-2     3      0.002100000  1   0    2 2 4 5                    an instant, a counter
//
// A node is a host and a task a row, numbered within its host in the order of the schema. A class's events have its
// number in the schema plus one. The format has no comments and no names: before a number is used the first time, a text
// (event -911) says what it is: "node 0 is web", "task 2 is nginx_12", "event 7 is request of len status". Blanks in names
// become _. Record -202, which other writers use, defines subsets of the tasks for collective operations; it has no room
// for names, and we write none.
//
// The values after type 2 are integers; where a class has fractions too the type is a format in quotes. Values are those of
// a class's fields that are numbers and its own, not its context's; an absent one is -1. An end of a message is written
// after the event that it is, as a synchronous send (-21) or receive (-52) that takes no time, with the flow's low 31 bits as
// tag and the number of a field named bytes, size, length or len as bytes. The record names the other end:
// for that a send waits until its arrival is known, for at most 16,384 records, after which the node is -1. A stay in a
// collective is a barrier (-402). Bounds have no place in this format.
//
// Times are UTC in seconds since 1970 with nine decimals, or seconds since Options.Origin. A reader that keeps them in a
// double has 0.24 µs of resolution in the first and about 1 ns for a hundred days in the second.
//
// Records are in the order of their times. A program that writes while events happen sets Options.Live and calls Advance and
// Flush. An event whose time is before that of the last one then has no place in the trace and is left out, but for the end of a
// slice that was written, which gets the time of the last record. Late counts both.
//
// The cost is a microsecond a record, and memory for what waits.
package picl

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Options say how a trace is written; the zero value is UTC.
type Options struct {
	Origin     clock.TimelineTime // ns since 1970 of what is second 0
	SinceFirst bool               // the first record is second 0, whatever Origin says
	Live       bool               // events come while they happen, some of them late
	Wait       time.Duration      // how long Advance lets a send wait for its arrival; 0 is a second
}

// The numbers of the format.
const (
	mark  = -2
	begin = -3
	end   = -4

	send    = -21
	receive = -52
	barrier = -402
	tracing = -901
	message = -911 // a text
)

// Writer is a sink that writes a PICL trace.
type Writer struct {
	out      *bufio.Writer
	progress timeline.Progress
	options  Options

	started bool
	last    clock.TimelineTime
	nodes   []bool         // which hosts have begun
	tasks   []task         // for each stream
	rows    map[string]int // how many each host has
	classes []class

	waiting queue
	line    []byte
	late    int64
}

// task is a stream's number within its host, and its slices that have not ended.
type task struct {
	number int
	named  bool
	open   []slice
	deeper int // slices that began beyond the deepest
}

type slice struct {
	id          uint64
	event, node int
}

// deepest is how many slices of a row may be open. An end whose begin was beyond is a mark.
const deepest = 4096

// NewWriter begins a trace; the first lines are written with the first record, whose time they need.
func NewWriter(w io.Writer, l *trace.Schema, o Options) (*Writer, error) {
	progress, err := timeline.NewProgress("picl", w, l)
	if err != nil {
		return nil, err
	}
	return &Writer{out: bufio.NewWriterSize(w, 64<<10), progress: progress, options: o, rows: make(map[string]int), waiting: newQueue()}, nil
}

// Write writes the lines of one record. Its error is that of an event whose host, stream or class the schema does not have, of
// the output, or of a writer that is closed; after an error nothing is written.
func (p *Writer) Write(r *trace.TimelineEvent) error {
	if err := p.progress.Accept(r); err != nil {
		return err
	}
	p.progress.Events++
	if !p.started {
		p.start(r.Time)
	}
	node, row := r.Host, p.task(r.Stream)
	at := r.Time
	if p.options.Live && at < p.last {
		p.late++
		if r.Phase != trace.End || !row.has(r.Slice, node) {
			return nil
		}
		at = p.last
	}
	p.last = max(p.last, at)
	number := row.number
	p.open(node, at)
	if !row.named {
		row.named = true
		p.say(at, node, number, "task "+strconv.Itoa(number)+" is", p.progress.Schema.Streams[r.Stream].Name)
	}
	c := p.class(r, node, number)
	event := 1 + r.Class
	switch r.Phase {
	case trace.Begin:
		row.begin(slice{r.Slice, event, node})
		p.head(begin, event, at, node, number)
		p.values(c, r.Values)
	case trace.End:
		kind := end
		if begun, ok := row.close(r.Slice, node); ok {
			event = begun
		} else {
			kind = mark
		}
		p.head(kind, event, at, node, number)
		p.line = append(p.line, " 0\n"...)
	default:
		p.head(mark, event, at, node, number)
		p.values(c, r.Values)
	}
	p.emit()
	switch r.Role {
	case trace.Sends, trace.Receives:
		p.waiting.end(&ending{flow: r.Flow, sends: r.Role == trace.Sends, at: at, bytes: c.size(r.Values), place: place{node, number}})
	case trace.Enters:
		p.plain(begin, barrier, at, node, number)
	case trace.Leaves:
		p.plain(end, barrier, at, node, number)
	}
	p.drain(math.MinInt64)
	return p.progress.Err
}

// Advance says that the timeline has come to an instant: sends that are older than Options.Wait wait no longer.
func (p *Writer) Advance(now clock.TimelineTime) error {
	wait := p.options.Wait
	if wait == 0 {
		wait = time.Second
	}
	p.drain(clock.Add(now, -int64(wait)))
	return p.progress.Err
}

// Flush writes what need not wait.
func (p *Writer) Flush() error {
	if p.progress.Err == nil {
		p.fail(p.out.Flush())
	}
	return p.progress.Err
}

// Late returns how many events came with a time before that of the last one.
func (p *Writer) Late() int64 { return p.late }

// Close writes what still waits and ends every node. It does not close what is below.
func (p *Writer) Close() error {
	if p.progress.Err != nil {
		return p.progress.Close()
	}
	p.drain(everything)
	for node, begun := range p.nodes {
		if begun {
			p.plain(end, tracing, p.last, node, 0)
		}
	}
	p.drain(everything)
	if p.progress.Err == nil {
		p.fail(p.out.Flush())
	}
	return p.progress.Close()
}

func (p *Writer) fail(err error) {
	if p.progress.Err == nil && err != nil {
		p.progress.Err = fmt.Errorf("picl: %w", err)
	}
}

// start begins all hosts known and says what the trace is.
func (p *Writer) start(first clock.TimelineTime) {
	p.started, p.last = true, first
	if p.options.SinceFirst {
		p.options.Origin = first
	}
	for node := range p.progress.Schema.Hosts {
		p.begin(node, first)
	}
	p.say(first, 0, 0, "trace", p.progress.Schema.Title)
	if p.options.Origin == 0 {
		p.say(first, 0, 0, "times are seconds since", "1970-01-01T00:00:00Z")
	} else {
		p.say(first, 0, 0, "times are seconds since", instant(p.options.Origin))
	}
	if p.progress.Schema.Method != "" {
		p.say(first, 0, 0, "clocks by", p.progress.Schema.Method)
	}
	for node := range p.progress.Schema.Hosts {
		p.name(node, first)
	}
}

// open begins a host that the schema did not have at the start.
func (p *Writer) open(node int, at clock.TimelineTime) {
	if node >= len(p.nodes) || !p.nodes[node] {
		p.begin(node, at)
		p.name(node, at)
	}
}

func (p *Writer) begin(node int, at clock.TimelineTime) {
	for len(p.nodes) <= node {
		p.nodes = append(p.nodes, false)
	}
	p.nodes[node] = true
	p.plain(begin, tracing, at, node, 0)
}

func (p *Writer) name(node int, at clock.TimelineTime) {
	p.say(at, node, 0, "node "+strconv.Itoa(node)+" is", p.progress.Schema.Hosts[node])
}

// task returns what is known of a row.
func (p *Writer) task(stream int) *task {
	for len(p.tasks) <= stream {
		host := p.progress.Schema.Streams[len(p.tasks)].Host
		p.tasks = append(p.tasks, task{number: p.rows[host]})
		p.rows[host]++
	}
	return &p.tasks[stream]
}

func (t *task) begin(s slice) {
	if len(t.open) < deepest {
		t.open = append(t.open, s)
	} else {
		t.deeper++
	}
}

// close ends a slice and returns the event that began it. A record that names another host than its row's ends nothing of
// the row's.
func (t *task) close(id uint64, node int) (event int, ok bool) {
	if id == 0 && t.deeper > 0 {
		t.deeper--
		return 0, false
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		if s := t.open[i]; s.node == node && (id == 0 || s.id == id) {
			t.open = append(t.open[:i], t.open[i+1:]...)
			return s.event, true
		}
	}
	return 0, false
}

// has says whether a slice of the row is open.
func (t *task) has(id uint64, node int) bool {
	if id == 0 && t.deeper > 0 {
		return false
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		if s := t.open[i]; s.node == node && (id == 0 || s.id == id) {
			return true
		}
	}
	return false
}

// head begins a line with what all have but the number of fields.
func (p *Writer) head(kind, event int, at clock.TimelineTime, node, task int) {
	p.line = strconv.AppendInt(p.line[:0], int64(kind), 10)
	p.line = strconv.AppendInt(append(p.line, ' '), int64(event), 10)
	p.line = appendSeconds(append(p.line, ' '), clock.Sub(at, p.options.Origin))
	p.line = strconv.AppendInt(append(p.line, ' '), int64(node), 10)
	p.line = strconv.AppendInt(append(p.line, ' '), int64(task), 10)
}

// plain writes a line without fields.
func (p *Writer) plain(kind, event int, at clock.TimelineTime, node, task int) {
	p.head(kind, event, at, node, task)
	p.line = append(p.line, " 0\n"...)
	p.emit()
}

// emit writes the line, behind what waits.
func (p *Writer) emit() {
	if len(p.waiting.entries) > 0 {
		p.waiting.text(p.line)
		return
	}
	_, err := p.out.Write(p.line)
	p.fail(err)
}
