package pipeline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/filter"
	"meridian/order"
	"meridian/trace"
)

// mostRuns is how many times a capture may step back before the rest is merged as it comes: each step costs another
// reading of the file.
const mostRuns = 64

// stretch is what one reader brings of a capture: the packets of one clock in one run without a step back.
type stretch struct {
	capture int
	clock   int
	run     order.Run
	whole   bool // it is all of the capture
}

// stretches cuts the captures where a clock was stepped back.
func (r *run) stretches() []stretch {
	var all []stretch
	for i, c := range r.captures {
		clocks := &r.matched.Captures[i]
		numbers := []int{clocks.Sent}
		if clocks.Received != clocks.Sent {
			numbers = append(numbers, clocks.Received)
		}
		for _, number := range numbers {
			// Frames of the other clock stand still at the stamp before: they neither begin nor end a run.
			var last int64
			seen := false
			runs := order.Runs(func(yield func(int, int64) bool) {
				n := 0
				for _, chunk := range c.Packets.Chunks() {
					for j := range chunk {
						if clocks.Of(n) == number {
							last, seen = chunk[j].Time, true
						}
						if seen && !yield(n, last) {
							return
						}
						n++
					}
				}
			}, order.DefaultWindow, mostRuns)
			for _, run := range runs {
				whole := len(runs) == 1 && len(numbers) == 1
				all = append(all, stretch{i, number, run, whole})
			}
		}
	}
	return all
}

// warnOfStretches names the captures whose clocks were set back, except where messages told and each stretch has a map of
// its own.
func (r *run) warnOfStretches(all []stretch) {
	for i, s := range all {
		if i == 0 || all[i-1].capture != s.capture || all[i-1].clock != s.clock {
			continue
		}
		if len(r.mapsOf(s)) > 1 {
			continue
		}
		c := r.captures[s.capture]
		at := s.run.From
		highest := c.Packets.At(max(at-1, 0)).Time
		for n := all[i-1].run.From; n < at; n++ {
			if r.matched.Captures[s.capture].Of(n) == s.clock {
				highest = max(highest, c.Packets.At(n).Time)
			}
		}
		back := highest - c.Packets.At(at).Time
		r.warnings.Add(c.File, "stamps go backwards: the clock was set during the capture",
			fmt.Sprintf("by %.6f s at packet %d", float64(back)/1e9, at+1))
		r.breakOnce(fmt.Sprintf("the clock of %s was set during the capture", c.Host))
	}
}

// writeMerged writes all packets in the order of the timeline as pcapng, one interface for each host, or for each of a
// host's link types.
func (r *run) writeMerged(ctx context.Context, w io.Writer) error {
	all := slices.DeleteFunc(slices.Clone(r.cut), func(s stretch) bool { return !r.isFile(r.captures[s.capture]) })
	o, err := r.wanted()
	if err != nil {
		return err
	}
	sources := make([]order.Source, len(all))
	readers := make([]*pcap.Reader, len(all))
	defer func() {
		for _, reader := range readers {
			if reader != nil {
				reader.Close()
			}
		}
	}()
	total := int64(0)
	for i, s := range all {
		c := r.captures[s.capture]
		reader, err := pcap.Open(c.File, nil)
		if err != nil {
			return err
		}
		readers[i] = reader
		sources[i] = order.Source{Frames: reader, Map: r.stretchMap(slices.Index(r.cut, s)), Keep: r.keep(s)}
		total += r.matched.Clocks[s.clock].Events
	}
	out, err := pcap.NewWriter(w, nil, "clocks aligned by meridian, method "+r.report.Method)
	if err != nil {
		return err
	}
	hosts := make([]bool, len(all))
	for i, s := range all {
		hosts[i] = filter.Match(o.Hosts, r.captures[s.capture].Host)
	}
	faces := interfaces{out: out, number: make(map[faceKey]int), known: make([][]int, len(all))}
	var keys []faceKey // in their order, before any packet
	names := make(map[faceKey][]string)
	for i, s := range all {
		if !hosts[i] {
			continue
		}
		host := r.captures[s.capture].Host
		for _, face := range r.captures[s.capture].Interfaces {
			key := faceKey{host, face.LinkType}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
			if !slices.Contains(names[key], face.Name) && face.Name != "" {
				names[key] = append(names[key], face.Name)
			}
		}
	}
	for _, key := range keys {
		if _, err := faces.add(key, joined(names[key])); err != nil {
			return err
		}
	}
	var written int64
	stats, err := order.Merge(ctx, sources, func(source int, f *trace.Frame) error {
		if !hosts[source] {
			return nil
		}
		face, err := faces.of(source, f.Interface, r.captures[all[source].capture].Host, readers[source])
		if err != nil {
			return err
		}
		if o.From.Timed && f.Time < o.From.Time || o.To.Timed && f.Time > o.To.Time {
			return nil
		}
		if written++; written&0xffff == 0 {
			r.Progress("merging", written, total)
		}
		return out.Write(face, f)
	})
	if err != nil {
		return err
	}
	late := int64(0)
	for _, n := range stats.Late {
		late += n
	}
	if late > 0 {
		r.breakOnce(fmt.Sprintf("%d packets of the merged capture are out of order, because their capture steps back too often", late))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	r.merged.Store(&written)
	return nil
}

// mapsOf returns the maps of the stretches of a capture's clock, nil where those that alignment knows of are others.
func (r *run) mapsOf(s stretch) []clock.Map {
	n := 0
	for _, x := range r.cut {
		if x.capture == s.capture && x.clock == s.clock {
			n++
		}
	}
	if maps := r.solution.Runs(s.clock); len(maps) == n && r.repaired == nil {
		return maps
	}
	return nil
}

// stretchMap returns the map of a stretch: where a clock was set back that of its piece, since in the map of the whole
// stamps that it showed twice have one time.
func (r *run) stretchMap(i int) *clock.Map {
	s := r.cut[i]
	k := 0
	for _, x := range r.cut[:i] {
		if x.capture == s.capture && x.clock == s.clock {
			k++
		}
	}
	if maps := r.mapsOf(s); maps != nil {
		return &maps[k]
	}
	return &r.solution.Maps[s.clock]
}

// keep selects a stretch's frames. It needs the clocks of the packets but not the packets.
func (r *run) keep(s stretch) func(number int) (keep, more bool) {
	if s.whole {
		return nil
	}
	clocks := r.matched.Captures[s.capture]
	return func(n int) (keep, more bool) {
		return n >= s.run.From && n < s.run.To && clocks.Of(n) == s.clock, n+1 < s.run.To
	}
}

// faceKey is what makes two interfaces one in the merged capture.
type faceKey struct {
	host string
	link uint16
}

// interfaces numbers the interfaces of the merged capture.
type interfaces struct {
	out    *pcap.Writer
	number map[faceKey]int
	count  map[string]int
	known  [][]int // by source and its own interface, plus one
}

// of returns the number of a source's interface.
func (x *interfaces) of(source, own int, host string, frames trace.FrameReader) (int, error) {
	for len(x.known[source]) <= own {
		x.known[source] = append(x.known[source], 0)
	}
	if n := x.known[source][own]; n > 0 {
		return n - 1, nil
	}
	face := frames.Interfaces()[own]
	n, err := x.add(faceKey{host, face.LinkType}, face.Name)
	x.known[source][own] = n + 1
	return n, err
}

// joined names the interfaces of a host of which one is made.
func joined(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(n) + " more"
	}
	return strings.Join(names, ", ")
}

func (x *interfaces) add(key faceKey, description string) (int, error) {
	if n, ok := x.number[key]; ok {
		return n, nil
	}
	if x.count == nil {
		x.count = make(map[string]int)
	}
	name := key.host
	if x.count[key.host]++; x.count[key.host] > 1 {
		name += "/" + strconv.Itoa(x.count[key.host])
	}
	n, err := x.out.AddInterface(pcap.WriterInterface{Name: name, Description: description, LinkType: key.link})
	x.number[key] = n
	return n, err
}
