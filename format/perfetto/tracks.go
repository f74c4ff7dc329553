package perfetto

import (
	"fmt"
	"strings"

	"meridian/format/internal/timeline"
	"meridian/trace"
)

// tracks has the rows of the timeline and the numbers (uuid) under which Perfetto knows their tracks.
type tracks struct {
	uuid  uint64 // the last one given
	known timeline.Hosts
	hosts []uint64 // their tracks
	rows  []row
}

// row is what the writer knows of a stream.
type row struct {
	uuid     uint64 // 0: not described yet
	parent   uint64
	name     string // as it was described
	rank     uint64
	visiting bool            // its parent is being looked for: found again, it is its own ancestor
	counters map[int][]count // by class
	lanes    []lane
	nested   int  // open slices without a number
	nest     int  // the lane they lie on, -1 while there was none
	numbered bool // there were slices with a number
}

func (w *Writer) newUUID() uint64 {
	w.tracks.uuid++
	return w.tracks.uuid
}

// track is what is said of a track.
type track struct {
	uuid, parent uint64
	name         string
	description  string
	rank         uint64
	counter      bool
	unit         uint64
}

// describe writes a track's descriptor. No track is merged with its namesakes, which Perfetto does unless it is told.
func (w *Writer) describe(t track) {
	b, packet := message(w.head, tracePacket)
	b = number(b, packetSequence, sequence)
	b, d := message(b, packetDescriptor)
	b = number(b, trackUUID, t.uuid)
	b = text(b, trackName, t.name)
	if t.parent != 0 {
		b = number(b, trackParent, t.parent)
	}
	if t.counter {
		var at int
		b, at = message(b, trackCounter)
		if t.unit != 0 {
			b = number(b, counterUnit, t.unit)
		}
		b, _ = end(b, at)
	} else {
		b = number(b, trackOrdering, orderingExplicit)
	}
	b = number(b, trackRank, t.rank)
	if t.description != "" {
		b = text(b, trackDescription, t.description)
	}
	b = number(b, trackMerging, mergingNone)
	b, _ = end(b, d)
	w.head, _ = end(b, packet)
}

// host returns the track of a host.
func (w *Writer) host(h int) uint64 {
	if w.tracks.uuid == 0 {
		// The order of the tracks at the top is that of the children of track 0, which stands for all of them.
		w.describeTop()
	}
	name, first := w.tracks.known.Describe(w.progress.Schema, h)
	if !first {
		return w.tracks.hosts[h]
	}
	for len(w.tracks.hosts) <= h {
		w.tracks.hosts = append(w.tracks.hosts, 0)
	}
	w.tracks.hosts[h] = w.newUUID()
	w.describe(track{uuid: w.tracks.hosts[h], name: name, description: w.about(), rank: uint64(h)})
	return w.tracks.hosts[h]
}

func (w *Writer) describeTop() {
	b, packet := message(w.head, tracePacket)
	b = number(b, packetSequence, sequence)
	b, d := message(b, packetDescriptor)
	b = number(b, trackUUID, 0)
	b = number(b, trackOrdering, orderingExplicit)
	b, _ = end(b, d)
	w.head, _ = end(b, packet)
}

// about says what a reader of the timeline must know.
func (w *Writer) about() string {
	var said []string
	if w.progress.Schema.Title != "" {
		said = append(said, w.progress.Schema.Title)
	}
	if w.progress.Schema.Method != "" {
		said = append(said, "clocks by: "+w.progress.Schema.Method)
	} else {
		said = append(said, "clocks as recorded")
	}
	if w.progress.Schema.Assumption != "" {
		said = append(said, "bounds hold under: "+w.progress.Schema.Assumption)
	}
	if w.tally.Shift != 0 {
		said = append(said, fmt.Sprintf("times are %d s later than they were, to be after 1970", w.tally.Shift/1_000_000_000))
	}
	return strings.Join(said, "; ")
}

// row returns a stream's row, and describes it when it is needed first.
func (w *Writer) row(stream, host int) *row {
	if stream < len(w.tracks.rows) && w.tracks.rows[stream].uuid != 0 {
		return &w.tracks.rows[stream]
	}
	for len(w.tracks.rows) < len(w.progress.Schema.Streams) {
		w.tracks.rows = append(w.tracks.rows, row{nest: -1})
	}
	s := &w.progress.Schema.Streams[stream]
	w.host(host)
	host = w.tracks.known.Of(s, host)
	top := w.tracks.hosts[host]
	parent := top
	w.tracks.rows[stream].visiting = true
	if p := s.Parent; p >= 0 && p < len(w.progress.Schema.Streams) && w.progress.Schema.Streams[p].Host == s.Host && !w.tracks.rows[p].visiting {
		parent = w.row(p, host).uuid
	}
	r := &w.tracks.rows[stream] // what was added meanwhile may have moved it
	r.visiting = false
	r.uuid, r.parent, r.rank = w.newUUID(), parent, uint64(timeline.RowRank(s, stream))*lanesRanked
	r.lanes = append(r.lanes, lane{uuid: r.uuid})
	w.describeRow(r, stream)
	return r
}

func (w *Writer) describeRow(r *row, stream int) {
	s := &w.progress.Schema.Streams[stream]
	r.name = timeline.RowName(s)
	about := fmt.Sprintf("%s %d on %s", s.Kind, s.ID, s.Host)
	if s.Kind == trace.Messages || s.Kind == trace.Bounds {
		about = fmt.Sprintf("%s of %s", s.Kind, s.Host)
	}
	w.describe(track{uuid: r.uuid, parent: r.parent, name: r.name, description: about, rank: r.rank})
	for i := 1; i < len(r.lanes); i++ {
		w.describeLane(r, i)
	}
}

// describeLane describes one of the extra tracks of a row, right below it.
func (w *Writer) describeLane(r *row, i int) {
	w.describe(track{
		uuid: r.lanes[i].uuid, parent: r.parent, name: fmt.Sprintf("%s #%d", r.name, i+1),
		rank: r.rank + uint64(min(i, lanesRanked-1)), description: "what overlaps others of " + r.name,
	})
}

// rename describes again the rows whose names were completed while records came.
func (w *Writer) rename() {
	for i := range w.tracks.rows {
		if r := &w.tracks.rows[i]; r.uuid != 0 && r.name != timeline.RowName(&w.progress.Schema.Streams[i]) {
			w.describeRow(r, i)
		}
	}
}

// lanesRanked is how many tracks of one row have ranks of their own, which have 31 bits in all.
const lanesRanked = 16
