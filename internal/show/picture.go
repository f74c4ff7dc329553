package show

import (
	"errors"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// PictureFormat is how a picture is written.
type PictureFormat uint8

const (
	SVG PictureFormat = iota
	PNG
)

// PictureOptions say what a picture shows; First and Last must be given, since they decide what shares a pixel.
type PictureOptions struct {
	Format      PictureFormat
	First, Last clock.TimelineTime // the interval of the timeline, ns
	Width       int                // pixels; 0 stands for 1400
	Rows        int                // drawn at most; 0 stands for 60
	Scale       float64            // PNG: pixels for one of Width; 0 stands for 2, or less where the picture would be huge
}

// Picture is a sink that draws a static picture of a timeline:
//
//	title                                         <- and below it the method, what it rests on, and counts
//	             0      1      2      3   ms      <- since the origin named next to it
//	web          ....bound at each instant....    <- a strip a host: how wide the interval is
//	  CPU 0      [irq]   [   ksoftirqd  ]         <- slices, those within others below them
//	  nginx 12   [ request     ]|  | ||           <- instants as ticks
//	                     \                        <- messages as arrows, inverted ones red
//	db  ...
//	[] request  [] query ...                      <- a colour for each of the classes that take most time
//
// Events that share a pixel are one rectangle; its opacity is the busy share of the pixel. So a row has at most some
// thousand rectangles. The rows drawn are those with inverted messages and then the busiest; what was left out is said
// in the picture. Memory is bounded by that: some 100 bytes for each rectangle.
type Picture struct {
	out     io.Writer
	schema  *trace.Schema
	options PictureOptions
	columns float64 // columns of the interval: events in one of them share a pixel

	rows     []*pictureRow // for each stream, nil where nothing happened
	blocks   int           // in all rows
	bands    map[int]*band64
	arrows   arrowStore
	spent    map[int32]int64 // ns in slices of each class
	records  int64
	homeless int64 // records of no row
}

// band64 is the width of a host's bound over the columns.
type band64 struct {
	widest []int64
	worst  int64
}

const (
	mostWidth  = 8000
	leastWidth = 480
	mostBlocks = 4 << 20
)

// NewPicture prepares a picture; Close writes it.
func NewPicture(w io.Writer, l *trace.Schema, o PictureOptions) (*Picture, error) {
	if o.Format > PNG {
		return nil, fmt.Errorf("picture: unknown format %d", o.Format)
	}
	if o.Last < o.First {
		return nil, errors.New("picture: the interval ends before it begins")
	}
	if o.Width == 0 {
		o.Width = 1400
	}
	if o.Rows <= 0 {
		o.Rows = 60
	}
	o.Width = min(max(o.Width, leastWidth), mostWidth)
	if o.Last == o.First {
		o.Last = clock.Add(o.First, 1)
	}
	columns := float64(o.Width)
	if o.Format == PNG {
		columns *= 2 // as fine as its pixels
	}
	return &Picture{out: w, schema: l, options: o, columns: columns, bands: make(map[int]*band64),
		arrows: newArrowStore(), spent: make(map[int32]int64)}, nil
}

// Write gathers a record.
func (p *Picture) Write(r *trace.TimelineEvent) error {
	p.records++
	if r.Stream < 0 || r.Stream >= len(p.schema.Streams) {
		p.homeless++
		return nil
	}
	for len(p.rows) <= r.Stream {
		p.rows = append(p.rows, nil)
	}
	row := p.rows[r.Stream]
	if row == nil {
		row = &pictureRow{stream: r.Stream, host: r.Host}
		p.rows[r.Stream] = row
	}
	row.count++
	switch r.Phase {
	case trace.Begin:
		row.begin(r)
	case trace.End:
		if s, ok := row.close(r.Slice); ok {
			p.slice(row, s, r.Time)
		} else if p.shown(r.Time) {
			p.tick(row, r.Time)
		}
	case trace.Counter:
		if p.shown(r.Time) {
			p.counter(row, r)
		}
	default:
		if p.shown(r.Time) {
			p.tick(row, r.Time)
		}
	}
	if p.shown(r.Time) {
		p.bound(r)
	}
	if r.Role == trace.Sends || r.Role == trace.Receives {
		p.arrows.meet(p, r)
	}
	if p.blocks > mostBlocks {
		p.trim()
	}
	return nil
}

// Close draws the picture. It does not close what is below.
func (p *Picture) Close() error {
	for _, row := range p.rows {
		if row == nil {
			continue
		}
		for _, s := range row.open { // they last to the end, as far as anybody knows
			p.slice(row, s, p.options.Last)
		}
		row.open = nil
	}
	err := p.write(newScenery(p))
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}

func (p *Picture) write(s *scenery) error {
	if p.options.Format == SVG {
		c := newVectors()
		s.draw(c)
		return c.write(p.out, s.width, s.height, s.title)
	}
	scale := p.options.Scale
	if scale <= 0 {
		scale = 2
	}
	c, err := newPixels(s.width, s.height, scale)
	if err != nil {
		return err
	}
	s.draw(c)
	return c.write(p.out)
}

func (p *Picture) shown(at clock.TimelineTime) bool {
	return at >= p.options.First && at <= p.options.Last
}

// part returns where in the interval an instant lies, from 0 to 1.
func (p *Picture) part(at clock.TimelineTime) float64 {
	at = min(max(at, p.options.First), p.options.Last)
	return float64(clock.Sub(at, p.options.First)) / float64(clock.Sub(p.options.Last, p.options.First))
}

func (p *Picture) column(at clock.TimelineTime) int32 {
	return int32(min(p.part(at)*p.columns, p.columns-1))
}

// bound widens a host's band where the record lies.
func (p *Picture) bound(r *trace.TimelineEvent) {
	width := max(clock.Sub(r.Time, r.Low), clock.Sub(r.High, r.Time))
	if width <= 0 || !r.Bounded {
		return
	}
	b := p.bands[r.Host]
	if b == nil {
		if len(p.bands) >= 256 { // more hosts than can be drawn
			return
		}
		b = &band64{widest: make([]int64, int(p.columns))}
		p.bands[r.Host] = b
	}
	c := p.column(r.Time)
	b.widest[c] = max(b.widest[c], width)
	b.worst = max(b.worst, width)
}
