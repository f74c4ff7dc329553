package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
)

const (
	minInt64 = math.MinInt64
	maxInt64 = math.MaxInt64
)

// tolerance is what the check forgives, ns: stamps of powers of two and bounds are rounded to ns.
const tolerance = 2

// Verdict is how a world came out.
type Verdict struct {
	Events     int
	Unbounded  int // events without bounds
	Outside    int
	Worst      int64 // greatest distance of an event outside from its interval, ns
	Sample     string
	Hidden     bool                 // nothing that the messages say contradicts the assumption; set where an event is outside and nothing is named
	Named      string               // the warning that names the fault
	Widths     map[string][]float64 // of a host's events with both bounds, if it is not the reference, in order, ns
	References map[string]string    // of each host
	Width      float64              // the median of them in least round trips; NaN if there is none
	Exit       int
	Fault      string // a failure other than an event outside: a crash, rows that are missing, a null without exit 3
	Warnings   []string
	Said       string // stderr
}

// fails says whether the world shows a defect.
func (v *Verdict) fails(w *World) bool {
	if v.Fault != "" {
		return true
	}
	return v.Outside > 0 && (w.Kept || v.Exit != 3 && v.Named == "" && !v.Hidden)
}

// naming finds the words with which a warning names what is wrong with a clock; those on files and packets name nothing of it.
var naming = regexp.MustCompile(`(?i)\b(set (forward|back|by)|was set|were set|step|steps|stepped|wanders?|wander|bends?|jumps?|jumped|skew|slew\w*|contradict\w*|outliers?|assumption|ppb|ppm)\b`)

// try writes a world into dir, runs the command there and checks what it says.
func (c *command) try(w *World, dir string) (*Verdict, error) {
	w.settle()
	inputs, events, err := w.save(dir)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return &Verdict{Width: math.NaN()}, nil
	}
	o, err := c.run(w, dir, inputs)
	if err != nil {
		v := &Verdict{Fault: err.Error(), Width: math.NaN(), Events: len(events), Exit: o.Exit, Said: o.Stderr}
		return v, nil
	}
	v := w.judge(events, o)
	if v.Outside > 0 && !w.Kept && v.Exit != 3 && v.Named == "" {
		v.Hidden = !w.shown()
	}
	if v.Fault == "" && w.Groups != nil {
		err = c.compareAlone(w, dir, v)
	}
	return v, err
}

// compareAlone aligns each of several unrelated groups alone: in the company of others, its bounds may not be wider. Groups that follow
// another reference alone are not compared.
func (c *command) compareAlone(w *World, dir string, together *Verdict) error {
	for group := range w.Groups[len(w.Groups)-1] + 1 {
		alone := w.clone()
		alone.Groups = nil
		alone.Messages = slices.DeleteFunc(alone.Messages, func(m Message) bool { return w.Groups[m.From] != group })
		sub := fmt.Sprintf("%s/group%d", dir, group)
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
		v, err := c.try(alone, sub)
		if err != nil {
			return err
		}
		for name, widths := range v.Widths {
			company := together.Widths[name]
			if together.References[name] != v.References[name] {
				continue
			}
			if len(company) != len(widths) {
				together.Fault = fmt.Sprintf("host %s: %d events are bounded in company, and %d alone", name, len(company), len(widths))
				return nil
			}
			for i, width := range widths {
				if company[i] > width*1.05+10 { // corners of a map may lie elsewhere
					together.Fault = fmt.Sprintf("host %s: bounds are wider in the company of unrelated hosts: %.0f ns in place of %.0f ns", name, company[i], width)
					return nil
				}
			}
		}
	}
	return nil
}

// judge compares what the command says with the truth.
func (w *World) judge(events []Event, o *Outcome) *Verdict {
	v := &Verdict{Events: len(events), Exit: o.Exit, Width: math.NaN(), Warnings: o.Warnings, Said: o.Stderr,
		Widths: map[string][]float64{}, References: map[string]string{}}
	if o.Exit == 1 || o.Exit == 2 {
		// A refusal is honest, but of a world with messages both ways it is no service.
		if !strings.Contains(o.Stderr, "no ") {
			v.Fault = fmt.Sprintf("refused with exit code %d: %s", o.Exit, firstLines(o.Stderr, 2))
		}
		v.Unbounded = len(events)
		return v
	}
	for _, text := range o.Warnings {
		if naming.MatchString(text) {
			v.Named = text
			break
		}
	}
	followers, fault := w.followers(events, o)
	if v.Fault = fault; fault != "" {
		return v
	}
	var widths []float64
	for name, hosts := range followers {
		reference := w.clockNamed(name)
		var all []placed
		for _, i := range hosts {
			name := w.Hosts[i].Name
			some, fault := pairUp(of(events, i), rowsOf(o.Rows, name), w.Hosts[i].Files <= 1)
			if fault != "" {
				v.Fault = fmt.Sprintf("host %s: %s", name, fault)
				return v
			}
			for _, p := range some {
				if !p.row.Bounded {
					if !w.Hosts[i].isAbsurd(p.event) {
						v.Unbounded++
					}
				} else if &w.Hosts[i].Clock != reference && p.row.Low != minInt64 && p.row.High != maxInt64 {
					v.Widths[name] = append(v.Widths[name], float64(uint64(p.row.High)-uint64(p.row.Low)))
				}
			}
			slices.Sort(v.Widths[name])
			widths = append(widths, v.Widths[name]...)
			v.References[name] = o.Hosts[name].Reference
			all = append(append(all, some...), ends(some, rowsOf(o.Ends, name))...)
		}
		v.place(w, reference, all)
	}
	if len(widths) > 0 {
		slices.Sort(widths)
		if rtt := w.leastRoundTrip(); rtt > 0 {
			v.Width = widths[len(widths)/2] / float64(rtt)
		}
		// A bound of years says that there is none, in a number.
		if w := widths[len(widths)-1]; w > 86400e9*366 && v.Exit != 3 {
			v.Fault = fmt.Sprintf("a bound of %.3g s with exit code %d", w/1e9, v.Exit)
		}
	}
	if v.Unbounded > 0 && v.Exit != 3 && v.Fault == "" {
		v.Fault = fmt.Sprintf("%d events without bounds with exit code %d", v.Unbounded, v.Exit)
	}
	return v
}

// followers are the hosts with events that follow each reference. They are judged together: by the timeline that suits best of those
// that the reference may have.
func (w *World) followers(events []Event, o *Outcome) (map[string][]int, string) {
	followers := map[string][]int{}
	for i := range w.Hosts {
		if len(of(events, i)) == 0 {
			continue
		}
		name := w.Hosts[i].Name
		h, ok := o.Hosts[name]
		if !ok || w.clockNamed(h.Reference) == nil {
			return nil, fmt.Sprintf("host %s is not in the report, or its reference %q is no host", name, h.Reference)
		}
		followers[h.Reference] = append(followers[h.Reference], i)
	}
	return followers, ""
}

// clockNamed is the clock that the report names: of a host, or the second one of a host's capture.
func (w *World) clockNamed(name string) *Clock {
	for i := range w.Hosts {
		h := &w.Hosts[i]
		if h.Name == name {
			return &h.Clock
		}
		if h.Other != nil && h.Other.Clock != nil && h.Name+"/rx" == name {
			return h.Other.Clock
		}
	}
	return nil
}

// of are the events of a host.
func of(events []Event, host int) []Event {
	var some []Event
	for _, e := range events {
		if e.Host == host {
			some = append(some, e)
		}
	}
	return some
}

func rowsOf(rows []Row, host string) []Row {
	var some []Row
	for _, r := range rows {
		if r.Host == host {
			some = append(some, r)
		}
	}
	return some
}

// ends are the rows of messages of a capture with the packets that they belong to. A row that shares its stamp with several packets of
// different bounds is left out: it cannot be told which one it is.
func ends(packets []placed, rows []Row) []placed {
	at := map[int64][]Event{}
	for _, p := range packets {
		at[p.row.Recorded] = append(at[p.row.Recorded], p.event)
	}
	var all []placed
	for _, r := range rows {
		if events := at[r.Recorded]; len(events) == 1 {
			all = append(all, placed{events[0], r})
		}
	}
	return all
}

// placed is an event and its row.
type placed struct {
	event Event
	row   Row
}

// pairUp gives every event its row: packets by their number in the capture if they are numbered, ends of a list's messages by their
// stamp. Of events with one stamp, the order of truth and that of the intervals is one.
func pairUp(events []Event, rows []Row, numbered bool) ([]placed, string) {
	if numbered && len(rows) > 0 && rows[0].Number > 0 {
		return pairPackets(events, rows)
	}
	if len(events) != len(rows) {
		return nil, fmt.Sprintf("%d rows for %d events", len(rows), len(events))
	}
	all := make([]placed, len(events))
	events = slices.Clone(events)
	rows = slices.Clone(rows)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(cmp.Compare(a.Stamp, b.Stamp), cmp.Compare(a.At, b.At)) })
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Recorded, b.Recorded), cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High))
	})
	for i := range events {
		if d := events[i].Stamp - rows[i].Recorded; d < -1 || d > 1 {
			return nil, fmt.Sprintf("no row for the stamp %d; the next is %d", events[i].Stamp, rows[i].Recorded)
		}
		all[i] = placed{events[i], rows[i]}
	}
	return all, ""
}

// pairPackets gives every packet its row: they are in the order of the file. A capture cannot hold stamps before 1970: such packets need
// no row.
func pairPackets(events []Event, rows []Row) ([]placed, string) {
	all := make([]placed, len(events))
	for _, r := range rows {
		if r.Number < 1 || r.Number > len(events) || all[r.Number-1].row.Number > 0 {
			return nil, fmt.Sprintf("packet %d of %d is there twice or is none", r.Number, len(events))
		}
		e := events[r.Number-1]
		// A packet whose timestamp is no evidence is shown with that of another, and without bounds.
		if d := e.Stamp - r.Recorded; r.Bounded && (d < -1 || d > 1) {
			return nil, fmt.Sprintf("packet %d has the stamp %d and the row %d", r.Number, e.Stamp, r.Recorded)
		}
		all[r.Number-1] = placed{e, r}
	}
	for n, e := range events {
		if all[n].row.Number == 0 && e.Stamp >= 0 {
			return nil, fmt.Sprintf("%d rows for %d events, and none for packet %d", len(rows), len(events), n+1)
		}
	}
	return slices.DeleteFunc(all, func(p placed) bool { return p.row.Number == 0 }), ""
}

// isAbsurd reports whether an event has a timestamp so far from its host's clock that it is no evidence: the command may show it without bounds.
func (h *Host) isAbsurd(e Event) bool {
	reading := h.Clock.read(e.At).Whole
	return max(satSub(e.Stamp, reading), satSub(reading, e.Stamp)) >= 2*second
}

// place counts the events outside of a component.
func (v *Verdict) place(w *World, reference *Clock, all []placed) {
	best := -1
	var worst int64
	var sample string
	for _, timeline := range reference.timelines() {
		timeline.settle()
		outside, far, text := 0, int64(0), ""
		counted := map[Event]bool{} // a packet and the message that it is an end of are one event
		for _, p := range all {
			if !p.row.Bounded {
				continue
			}
			truth := timeline.read(p.event.At)
			out := max(satSub(p.row.Low, truth.Whole+1), satSub(truth.Whole, p.row.High))
			if out <= tolerance {
				continue
			}
			if !counted[p.event] {
				outside++
				counted[p.event] = true
			}
			if out > far {
				far = out
				text = fmt.Sprintf("%s at stamp %d (true instant %d): %d..%d, true place %d, %s outside", w.Hosts[p.event.Host].Name,
					p.event.Stamp, p.event.At, p.row.Low, p.row.High, truth.Whole, span(out))
			}
		}
		if best < 0 || outside < best {
			best, worst, sample = outside, far, text
		}
		if best == 0 {
			break
		}
	}
	v.Outside += best
	if best > 0 && worst >= v.Worst {
		v.Worst, v.Sample = worst, sample
	}
}

// satSub is a-b, saturating where a or b is an absent bound.
func satSub(a, b int64) int64 {
	if a == minInt64 {
		return minInt64
	}
	if b == maxInt64 {
		return minInt64
	}
	return a - b
}

// span is ns for people.
func span(ns int64) string {
	switch f := float64(ns); {
	case ns < 10_000:
		return fmt.Sprintf("%d ns", ns)
	case ns < 10_000_000:
		return fmt.Sprintf("%.1f µs", f/1e3)
	case ns < 10*second:
		return fmt.Sprintf("%.1f ms", f/1e6)
	default:
		return fmt.Sprintf("%.1f s", f/1e9)
	}
}

// scratch makes an empty directory for one world.
func scratch(base string, worker int) (string, error) {
	dir := fmt.Sprintf("%s/w%d", base, worker)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}
