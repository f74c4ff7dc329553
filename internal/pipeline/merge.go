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
	"meridian/internal/redact"
	"meridian/order"
	"meridian/trace"
)

// packetMerge is all that a merged capture is made from. It refers to files and maps but to no packets or messages, so
// that these can be collected before it is written.
type packetMerge struct {
	segments  []mergeSegment
	method    string
	selection filter.Options
	total     int64 // packets, about
	begins    int64 // the second in which its packets begin, if that is before 1970; else 0
	redact    *redact.Redactor
}

// mergeSegment is a segment of a capture that is a file.
type mergeSegment struct {
	file, host string
	note       string // where its clock is not aligned with the reference; else ""
	interfaces []trace.Interface
	packets    int
	stampSum   uint64
	retimed    []trace.Retimed
	frames     trace.FrameChunks // nil where the file is to be read from its beginning
	selected   bool              // its host is
	blocks     []trace.FileBlock // what its file has beside packets
	blocksLeft int               // of the file
	clock      *clock.Map
	pass       func(number int) (pass, more bool)
}

// packetMerge returns the merge of the packets of all captures.
func (o *Ordered) packetMerge() *packetMerge {
	m := &packetMerge{method: o.Report.Method, selection: o.selection}
	var blocks [][]trace.FileBlock // of the segments of the capture from here on
	for i, s := range o.segments {
		c := o.captures[s.capture]
		if i == 0 || o.segments[i-1].capture != s.capture {
			end := i + 1
			for end < len(o.segments) && o.segments[end].capture == s.capture {
				end++
			}
			blocks = fileBlocks(c, o.segments[i:end])
		}
		of := blocks[0]
		blocks = blocks[1:]
		if !o.isFile(c) {
			continue
		}
		x := mergeSegment{
			file: c.File, host: c.Host, interfaces: c.Interfaces, packets: c.Packets.Len(), stampSum: c.StampSum, retimed: c.Retimed, frames: c.Frames,
			selected: filter.Match(o.selection.Hosts, c.Host), clock: o.segmentMap(i), pass: o.packetFilter(s),
			blocks: of, blocksLeft: c.BlocksLeft,
		}
		if o.coverage.unaligned[s.clock] != nil {
			x.note = fmt.Sprintf("not aligned with %s: times are of component %d alone", o.Report.Reference, o.Solution.Component[s.clock])
		}
		m.segments = append(m.segments, x)
		m.begins = min(m.begins, beginsBefore1970(o.Aligned, s, x.clock))
		m.total += o.Clocks[s.clock].Events
	}
	return m
}

// beginsBefore1970 returns the second on the timeline in which the packets of a segment begin, if that is before 1970, where the stamps of
// a pcapng begin unless it says otherwise. So it is where the timeline is that of a clock that was never set.
func beginsBefore1970(a *Aligned, s segment, m *clock.Map) int64 {
	const year = 365 * 24 * 3600 * 1_000_000_000
	packets := &a.captures[s.capture].Packets
	// Captures of now are not searched.
	if s.packets.From >= min(s.packets.To, packets.Len()) || m.Mid.Check() != nil || m.At(packets.At(s.packets.From).Time) > year {
		return 0
	}
	first, last := a.stampsWithin(s)
	if first > last {
		return 0
	}
	return min(0, int64(m.At(first))/1_000_000_000-1)
}

// write writes the packets in the order of the timeline as pcapng, with one interface for each host, or for each of a
// host's link types. It returns how many it wrote, and how many of these are out of order.
func (m *packetMerge) write(ctx context.Context, w io.Writer, p Progress) (written, late int64, err error) {
	out, err := pcap.NewWriter(w, nil, "clocks aligned by meridian, method "+m.method)
	if err != nil {
		return 0, 0, err
	}
	faces := newInterfaceTable(out, len(m.segments))
	faces.begins = m.begins
	if err := faces.addAll(m.segments); err != nil {
		return 0, 0, err
	}
	if err := m.writeLeadingBlocks(out); err != nil {
		return 0, 0, err
	}
	if parts := m.inParts(); parts != nil {
		if written, err = m.writeInParts(ctx, parts, w, out, faces, p); err != nil {
			return written, 0, err
		}
		if err := m.writeStatistics(out, faces); err != nil {
			return written, 0, err
		}
		return written, 0, out.Flush()
	}
	sources, closeSources, err := m.open()
	if err != nil {
		return 0, 0, err
	}
	defer closeSources()
	from, to := m.selection.From, m.selection.To
	stats, err := order.Merge(ctx, sources, func(source int, at clock.TimelineTime, f *trace.Frame) error {
		if !m.segments[source].selected {
			return nil
		}
		face, err := faces.of(source, f.Interface, &m.segments[source], sources[source].Frames)
		if err != nil {
			return err
		}
		if from.Timed && at < from.Time || to.Timed && at > to.Time {
			return nil
		}
		if written++; written&0xffff == 0 {
			p.Report("merging", written, m.total)
		}
		if m.redact != nil { // options are comments, and hashes of what is cut off
			f.Data, f.Options = m.redact.Packet(sources[source].Frames.Interfaces()[f.Interface].LinkType, f.Data), nil
		}
		f.Time = clock.HostTime(at) // the clock of the merged capture is the timeline
		return out.Write(face, f)
	})
	if err != nil {
		return 0, 0, err
	}
	for _, n := range stats.Late {
		late += n
	}
	if err := m.writeStatistics(out, faces); err != nil {
		return 0, 0, err
	}
	return written, late, out.Flush()
}

// open opens the captures, each once for every segment.
func (m *packetMerge) open() (sources []order.Source, closeSources func(), err error) {
	var readers []*pcap.AgainReader
	closeSources = func() {
		for _, r := range readers {
			r.Close()
		}
	}
	for _, s := range m.segments {
		r, err := pcap.OpenAgain(s.file, s.packets, s.stampSum, s.retimed)
		if err != nil {
			closeSources()
			return nil, nil, err
		}
		readers = append(readers, r)
		sources = append(sources, order.Source{Frames: r, Map: s.clock, Keep: s.pass})
	}
	return sources, closeSources, nil
}

// interfaceKey is what two interfaces have in common that are one in the merged capture.
type interfaceKey struct {
	host string
	link uint16
}

// interfaceTable numbers the interfaces of the merged capture.
type interfaceTable struct {
	out    *pcap.Writer
	number map[interfaceKey]int
	count  map[string]int // by host
	begins int64          // in seconds: before all stamps
	known  [][]int        // by source and its own interface: the number plus one, 0 if not known
}

func newInterfaceTable(out *pcap.Writer, sources int) *interfaceTable {
	return &interfaceTable{out: out, number: make(map[interfaceKey]int), count: make(map[string]int), known: make([][]int, sources)}
}

// addAll adds the interfaces of the selected segments, before any packet.
func (t *interfaceTable) addAll(segments []mergeSegment) error {
	var keys []interfaceKey // in their order
	names, notes := make(map[interfaceKey][]string), make(map[interfaceKey]string)
	for _, s := range segments {
		if !s.selected {
			continue
		}
		for _, face := range s.interfaces {
			key := interfaceKey{s.host, face.LinkType}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
			notes[key] = s.note
			if !slices.Contains(names[key], face.Name) && face.Name != "" {
				names[key] = append(names[key], face.Name)
			}
		}
	}
	for _, key := range keys {
		if _, err := t.add(key, described(interfaceNames(names[key]), notes[key])); err != nil {
			return err
		}
	}
	for i, s := range segments {
		for _, face := range s.interfaces {
			t.known[i] = append(t.known[i], t.number[interfaceKey{s.host, face.LinkType}]+1)
		}
	}
	return nil
}

// of returns the number of a source's interface.
func (t *interfaceTable) of(source, own int, s *mergeSegment, frames trace.FrameReader) (int, error) {
	for len(t.known[source]) <= own {
		t.known[source] = append(t.known[source], 0)
	}
	if n := t.known[source][own]; n > 0 {
		return n - 1, nil
	}
	face := frames.Interfaces()[own]
	n, err := t.add(interfaceKey{s.host, face.LinkType}, described(face.Name, s.note))
	t.known[source][own] = n + 1
	return n, err
}

// add returns the number of an interface, which it adds if there is none. The first interface of a host has the host's
// name.
func (t *interfaceTable) add(key interfaceKey, description string) (int, error) {
	if n, ok := t.number[key]; ok {
		return n, nil
	}
	name := key.host
	if t.count[key.host]++; t.count[key.host] > 1 {
		name += "/" + strconv.Itoa(t.count[key.host])
	}
	n, err := t.out.AddInterface(pcap.WriterInterface{Name: name, Description: description, LinkType: key.link, Offset: t.begins})
	t.number[key] = n
	return n, err
}

// described adds a note to a description; either may be empty.
func described(description, note string) string {
	if description == "" || note == "" {
		return description + note
	}
	return description + "; " + note
}

// interfaceNames describes an interface that stands for several, only the first of many.
func interfaceNames(names []string) string {
	const shown = 8
	if n := len(names) - shown; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), n)
	}
	return strings.Join(names, ", ")
}
