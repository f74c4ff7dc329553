package show

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"meridian/clock"
)

// Delays are measured delays of one kind, such as the round trips to a host: what `meridian clock probe` and `clock one-way` print.
type Delays struct {
	Name   string  `json:"name"`
	Host   string  `json:"host"`
	Count  int     `json:"count"`
	Min    int64   `json:"min_ns"`
	Max    int64   `json:"max_ns"`
	Median int64   `json:"median_ns"`
	P99    int64   `json:"p99_ns"`
	Mean   float64 `json:"mean_ns"`
	// TrimmedMean is the mean of those up to twice the minimum (Tinetti et al., tables 3 and 4), Trimmed how many are beyond.
	TrimmedMean float64 `json:"trimmed_mean_ns"`
	Trimmed     int     `json:"trimmed"`
	// Bound is by how much each delay may be off: 0 where one clock took both ends. Nil where that is not known.
	Bound   *int64 `json:"bound_ns,omitempty"`
	Buckets []Bar  `json:"histogram"`
}

// Bar is the delays from From on and below To.
type Bar struct {
	From  int64 `json:"from_ns"`
	To    int64 `json:"to_ns"`
	Count int   `json:"count"`
}

const bars = 24

// NewDelays sums up delays. The order of ns is changed.
func NewDelays(name, host string, ns []int64, bound *int64) *Delays {
	d := &Delays{Name: name, Host: host, Count: len(ns), Bound: bound}
	if len(ns) == 0 {
		return d
	}
	slices.Sort(ns)
	d.Min, d.Max, d.Median, d.P99 = ns[0], ns[len(ns)-1], ns[(len(ns)-1)/2], ns[(len(ns)-1)*99/100]
	sum, trimmed, kept := 0.0, 0.0, 0
	for _, v := range ns {
		sum += float64(v)
		if d.Min <= 0 || v <= clock.Add(d.Min, d.Min) {
			trimmed, kept = trimmed+float64(v), kept+1
		}
	}
	d.Mean, d.TrimmedMean, d.Trimmed = sum/float64(len(ns)), trimmed/float64(kept), len(ns)-kept
	d.histogram(ns)
	return d
}

// histogram counts sorted delays in bars of one width from the minimum to the 99th percentile; the last bar has those beyond, too.
func (d *Delays) histogram(ns []int64) {
	width := max(1, int64(math.Ceil(float64(d.P99-d.Min+1)/(bars-1))))
	d.Buckets = make([]Bar, bars)
	for i := range d.Buckets {
		d.Buckets[i] = Bar{From: d.Min + int64(i)*width, To: d.Min + int64(i+1)*width}
	}
	for _, v := range ns {
		d.Buckets[min((v-d.Min)/width, bars-1)].Count++
	}
	last := &d.Buckets[bars-1]
	last.To = max(last.To, d.Max+1)
	for len(d.Buckets) > 1 && d.Buckets[len(d.Buckets)-1].Count == 0 {
		d.Buckets = d.Buckets[:len(d.Buckets)-1]
	}
}

// DelayReport is delays of several kinds or hosts.
type DelayReport struct {
	Title  string    `json:"title"`
	Delays []*Delays `json:"delays"`
}

// Write writes the delays as JSON.
func (r *DelayReport) Write(w io.Writer) error { return indented(w).Encode(r) }

// Table writes a row for each kind, and the histograms below.
func (r *DelayReport) Table(w io.Writer) error {
	var out strings.Builder
	t := table{left: map[int]bool{0: true, 1: true}}
	t.row("host", "delay", "count", "min", "median", "p99", "max", "mean", "mean to 2 min", "beyond", "off by at most")
	for _, d := range r.Delays {
		row := []string{printable(d.Host), d.Name, count(int64(d.Count)), "-", "-", "-", "-", "-", "-", "-", optional(d.Bound, duration)}
		if d.Count > 0 {
			for i, v := range []float64{float64(d.Min), float64(d.Median), float64(d.P99), float64(d.Max), d.Mean, d.TrimmedMean} {
				row[3+i] = duration(int64(math.Round(v)))
			}
			row[9] = count(int64(d.Trimmed))
		}
		t.row(row...)
	}
	t.write(&out)
	for _, d := range r.Delays {
		d.bars(&out)
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

const barWidth = 50

// bars writes the histogram as lines of text.
func (d *Delays) bars(out *strings.Builder) {
	if d.Count == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s: %s\n", printable(d.Host), d.Name)
	t := table{}
	most := 0
	for _, b := range d.Buckets {
		most = max(most, b.Count)
	}
	for i, b := range d.Buckets {
		from := duration(b.From)
		if i == len(d.Buckets)-1 && d.Max >= b.From && len(d.Buckets) == bars {
			from += " and more"
		}
		t.row(from, count(int64(b.Count)))
	}
	var lines strings.Builder
	t.write(&lines)
	i := 0
	for line := range strings.Lines(lines.String()) {
		length := int(math.Ceil(float64(d.Buckets[i].Count) / float64(most) * barWidth))
		out.WriteString(strings.TrimRight("  "+strings.TrimSuffix(line, "\n")+"  "+strings.Repeat("#", length), " ") + "\n")
		i++
	}
}

// The picture of delays: a panel for each kind.
const (
	delaysWidth  = 720.0
	delayTop     = 60.0
	delayHeight  = 190.0
	delayInset   = 60.0
	delayGround  = 120.0
	smallText    = 11.0
	captionText  = 12.5
	headlineText = 16.0
)

// SVG draws the histograms.
func (r *DelayReport) SVG(w io.Writer) error {
	v := newVectors()
	height := delayTop + delayHeight*float64(len(r.Delays))
	v.rect(0, 0, delaysWidth, height, ground)
	v.text(delayInset, 32, r.Title, font{size: headlineText, bold: true, align: -1}, ink)
	for i, d := range r.Delays {
		d.panel(v, delayTop+delayHeight*float64(i), i)
	}
	return v.write(w, delaysWidth, height, r.Title)
}

// panel draws one histogram with its top at y.
func (d *Delays) panel(v *vectors, y float64, number int) {
	caption := fmt.Sprintf("%s: %s, %s", printable(d.Host), d.Name, counted(int64(d.Count), "delay"))
	if d.Count == 0 {
		v.text(delayInset, y+smallText, caption, font{size: captionText, bold: true, align: -1}, ink)
		return
	}
	caption += fmt.Sprintf(", min %s, median %s, p99 %s, max %s", duration(d.Min), duration(d.Median), duration(d.P99), duration(d.Max))
	if d.Bound != nil && *d.Bound > 0 {
		caption += ", ± " + duration(*d.Bound)
	}
	v.text(delayInset, y+smallText, caption, font{size: captionText, bold: true, align: -1}, ink)
	base := y + 22 + delayGround
	most := 0
	for _, b := range d.Buckets {
		most = max(most, b.Count)
	}
	width := (delaysWidth - 2*delayInset) / bars
	step := d.Buckets[0].To - d.Buckets[0].From
	axis := interval{float64(d.Min), float64(d.Min + step*bars)}
	for _, tick := range ticksOf(axis, delayUnits).at {
		x := delayInset + (tick.value-axis.low)/(axis.high-axis.low)*(delaysWidth-2*delayInset)
		v.line(x, base-delayGround, x, base, 1, gridLine)
		v.text(x, base+14, tick.text, font{size: smallText}, dim)
	}
	for i, b := range d.Buckets {
		h := float64(b.Count) / float64(most) * delayGround
		v.rect(delayInset+float64(i)*width+0.5, base-h, width-1, h, classColours[number%len(classColours)])
	}
	v.line(delayInset, base, delaysWidth-delayInset, base, 1, dim)
	v.text(delayInset-6, base-delayGround+smallText, count(int64(most)), font{size: smallText, align: 1}, dim)
	v.text(delaysWidth-delayInset, base+28, "delay, "+ticksOf(axis, delayUnits).unit+"; the last bar has all beyond", font{size: smallText, align: 1}, dim)
}
