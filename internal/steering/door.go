package steering

// Door says of readings, as they come, which ones are on a line with those before. A recorder stores the ends of lines.
//
// From the last stored reading a cone is kept of the lines that pass every reading since to within its error and a tolerance. A
// reading within the cone can end the line; one beyond it shows that the rate has changed.
type Door struct {
	start, last Point
	low, high   float64 // slopes of the cone, ns a count
	seen        Seen
	inner       int64 // greatest bend that readings before the last may have
	began       bool
}

// Point is a reading of the two clocks.
type Point struct {
	Counter uint64
	Ns      int64
	Error   int64 // of the reading, ns
}

// tolerance is by how much readings may be off a line beyond their errors, ns: some steps of a counter.
const tolerance = 20

// Begin starts a line at a reading.
func (d *Door) Begin(p Point) {
	*d = Door{start: p, last: p, low: 0, high: 1e300, began: true}
}

// Began reports whether there is a line.
func (d *Door) Began() bool { return d.began }

// Note takes account of a reading by which stamps were converted.
func (d *Door) Note(error int64) { d.seen.Worst = max(d.seen.Worst, error) }

// Fits reports whether a reading is on the line of those since the start. One that is not later than the last does not count
// and fits.
func (d *Door) Fits(p Point) bool {
	if p.Counter <= d.last.Counter || p.Ns <= d.last.Ns {
		return true
	}
	slope := float64(p.Ns-d.start.Ns) / float64(p.Counter-d.start.Counter)
	return d.low <= slope && slope <= d.high
}

// Add takes a reading into the line, which must fit it.
func (d *Door) Add(p Point) {
	if p.Counter <= d.last.Counter || p.Ns <= d.last.Ns {
		return
	}
	if d.last != d.start {
		d.inner = max(d.inner, d.last.bend())
	}
	d.seen.Gap = max(d.seen.Gap, p.Ns-d.last.Ns)
	counts, ns, off := float64(p.Counter-d.start.Counter), float64(p.Ns-d.start.Ns), float64(p.Error+tolerance)
	d.low, d.high = max(d.low, (ns-off)/counts), min(d.high, (ns+off)/counts)
	d.last = p
	d.Note(p.Error)
}

// bend returns how far the clock may have been from a line that passes the reading.
func (p Point) bend() int64 { return 2*p.Error + tolerance + 1 }

// Last returns the latest reading of the line.
func (d *Door) Last() Point { return d.last }

// Seen returns what was seen since the start. Bend and Gap are those of a line that ends at the last reading.
func (d *Door) Seen() Seen {
	s := d.seen
	if s.Bend = d.inner; d.inner == 0 {
		s.Gap = 0
	}
	return s
}
