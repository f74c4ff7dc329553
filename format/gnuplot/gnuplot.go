// Package gnuplot writes a timeline as a gnuplot script that holds its data and needs no other file. In go records, out
// comes, with the last of them, one file:
//
//	gnuplot -p timeline.plot                                                a window
//	gnuplot -e "set terminal pngcairo size 1600,900" timeline.plot > t.png  a picture
//
//	web  CPU 0    |####|     |##|   ########     time, s since the origin in the title -->
//	     nginx    | ==========\   ||  |
//	db   CPU 0    |     ##     \    ####         arrows: messages, inverted ones red
//	     postgres |          |-o-|  ======       bars:   where an end of a message lies at the least and the most
//
// Hosts lie one below the other, parted by a line, each with its kernel's rows (processors, interrupts, devices) above
// those of programs. Slices are boxes, those within others lower ones, in the colours of Okabe and Ito for the eight
// classes that take most time; instants and counters are ticks.
//
// A file stays small enough for gnuplot: beyond Options.Events, slices and ticks of a row that are nearer to each other
// than a quantum become one, whose height says how much of it was busy, and the quantum doubles until they fit; the title
// says it and how many there were. Arrows become one between two rows in a quantum, inverted ones first. Beyond
// Options.Rows, the quietest rows of a host share one.
//
// Names in a trace are anybody's, and gnuplot runs commands that it finds in backquotes. Names stand in single quotes
// alone, where gnuplot replaces nothing; without controls, which could end a line; and never in comments or data.
//
// The cost is some 0.2 µs a record and at most some 20 MB.
package gnuplot

import (
	"fmt"
	"io"
	"math/bits"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Options say how much is drawn; 0 stands for the default.
type Options struct {
	Events int // slices, ticks and ends of messages; 200,000
	Rows   int // 40
}

// Writer is a sink that writes a script.
type Writer struct {
	out      io.Writer
	progress timeline.Progress
	options  Options

	first, last clock.TimelineTime
	quantum     int64 // what is nearer becomes one; 0 while all is kept
	kept        int   // slices and ticks in rows
	rows        []row // for each stream
	arrows      []arrow
	pace        int64 // the quantum of arrows
	messages    int64
	inverted    int64
	ends        ends
	spent       map[int]int64 // ns in slices of each class
	live        bool          // one picture follows another
}

// row is what was drawn of a stream.
type row struct {
	slices []slice
	ticks  []clock.TimelineTime
	open   []slice
	deeper int   // slices that began beyond the deepest
	count  int64 // records
}

// slice is a box; of an open one the end is not known.
type slice struct {
	start, end    clock.TimelineTime
	busy, longest int64 // of those that it was made of
	id            uint64
	class         int32
	depth         int32
}

// deepest is how many slices of a row may be open; deeper ones are not drawn.
const deepest = 64

// NewWriter prepares a script. It is written by Close: ranges and rows must be known before.
func NewWriter(w io.Writer, l *trace.Schema, o Options) (*Writer, error) {
	progress, err := timeline.NewProgress("gnuplot", w, l)
	if err != nil {
		return nil, err
	}
	if o.Events <= 0 {
		o.Events = 200_000
	}
	if o.Rows <= 0 {
		o.Rows = 40
	}
	return &Writer{out: w, progress: progress, options: o, ends: newEnds(), spent: make(map[int]int64)}, nil
}

// Write gathers a record. Its error is that of an event whose host, stream or class the schema does not have, or of a writer
// that is closed; after an error no script is written.
func (g *Writer) Write(r *trace.TimelineEvent) error {
	if err := g.progress.Accept(r); err != nil {
		return err
	}
	if g.progress.Events == 0 {
		g.first, g.last = r.Time, r.Time
	}
	g.progress.Events++
	g.first, g.last = min(g.first, r.Time), max(g.last, r.Time)
	for len(g.rows) <= r.Stream {
		g.rows = append(g.rows, row{})
	}
	if g.progress.Schema.Streams[r.Stream].Kind == trace.Bounds {
		return nil // bounds are drawn where messages end
	}
	w := &g.rows[r.Stream]
	w.count++
	switch r.Phase {
	case trace.Begin:
		w.begin(slice{start: r.Time, id: r.Slice, class: int32(r.Class)})
	case trace.End:
		if s, ok := w.close(r.Slice); ok {
			g.slice(w, s, r.Time)
		} else {
			g.tick(w, r.Time)
		}
	default:
		g.tick(w, r.Time)
	}
	if r.Role == trace.Sends || r.Role == trace.Receives {
		g.message(r)
	}
	if g.kept > g.options.Events {
		g.thin(g.options.Events / 2) // so that it is not called again soon
	}
	return nil
}

// Close writes the script. It does not close what is below.
func (g *Writer) Close() error {
	if err := g.progress.Close(); err != nil {
		return err
	}
	for i := range g.rows {
		w := &g.rows[i]
		for _, s := range w.open { // they last to the end, as far as anybody knows
			g.slice(w, s, g.last)
		}
		w.open = nil
	}
	return g.draw()
}

// draw writes the script of what is kept.
func (g *Writer) draw() error {
	if g.kept > g.options.Events || g.quantum > 0 {
		g.thin(g.options.Events)
	}
	if g.pace > 0 {
		g.thinArrows(g.mostArrows())
	}
	if err := g.script(); err != nil {
		return fmt.Errorf("gnuplot: %w", err)
	}
	return nil
}

// begin opens a slice at the smallest depth that is free, so that those of one depth do not overlap.
func (w *row) begin(s slice) {
	if len(w.open) >= deepest {
		w.deeper++
		return
	}
	var taken uint64
	for _, o := range w.open {
		taken |= 1 << o.depth
	}
	s.depth = int32(bits.TrailingZeros64(^taken))
	w.open = append(w.open, s)
}

// close ends a slice: the one of that number, or the last begun.
func (w *row) close(id uint64) (slice, bool) {
	if id == 0 && w.deeper > 0 {
		w.deeper--
		return slice{}, false
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		if s := w.open[i]; id == 0 || s.id == id {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return s, true
		}
	}
	return slice{}, false
}

// slice adds a box.
func (g *Writer) slice(w *row, s slice, end clock.TimelineTime) {
	s.end = max(end, s.start)
	s.busy = clock.Sub(s.end, s.start)
	s.longest = s.busy
	g.spent[int(s.class)] = clock.Add(g.spent[int(s.class)], s.busy)
	w.slices = append(w.slices, s)
	g.kept++
}

// tick adds a tick unless there is one as near as the quantum.
func (g *Writer) tick(w *row, at clock.TimelineTime) {
	if n := len(w.ticks); n > 0 && g.quantum > 0 && int64(at-w.ticks[n-1]) < g.quantum {
		return
	}
	w.ticks = append(w.ticks, at)
	g.kept++
}
