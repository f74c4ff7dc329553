package index

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
	"unsafe"

	"meridian/trace"
)

const (
	// mostEvents is how many events are returned at once.
	mostEvents = 1024
	// longestText is how many bytes of one field's text are returned; mostText, of all fields together.
	longestText = 1 << 16
	mostText    = 16 << 20
)

// eventSource has events and the lanes on which their slices and messages are.
type eventSource interface {
	laneSource
	lists() []blockList  // in order of their events
	reader() blockReader // of their blocks
	fieldsOf(class uint32) []trace.Field
	// linksOf lists the lanes of messages that a row sends, or receives; slicesOf, those of its slices.
	linksOf(row int, sends bool) []int
	lateness() int64 // by how much an event came late at most
	slicesOf(row int) []int
}

// Events returns up to n events from number from on, fewer where they are large.
func (x *Index) Events(from int64, n int) ([]Event, error) { return eventsOf(fileLanes{x}, from, n) }

func eventsOf(x eventSource, from int64, n int) ([]Event, error) {
	if from < 0 || n < 0 {
		return nil, fmt.Errorf("index: invalid range: %d events from number %d on", n, from)
	}
	out := []Event{}
	n = min(n, mostEvents)
	var w walker
	texts := texts{left: mostText}
	err := scanEvents(x, from, nil, func(number int64, h *head, values *decoder) (bool, error) {
		if len(out) == n || texts.left <= 0 {
			return false, nil
		}
		e := newEvent(number, h)
		fields := x.fieldsOf(h.class)
		e.Fields = append([][2]string{}, texts.of(fields, values)...)
		if values.bad {
			return false, damaged("the fields of event %d cannot be read", number)
		}
		out = append(out, e)
		return true, findEnds(x, &w, &out[len(out)-1], h)
	})
	return out, err
}

func (f fileLanes) fieldsOf(class uint32) []trace.Field { return f.x.fields[class] }

func (f fileLanes) lateness() int64 { return f.x.about.Late }

func (f fileLanes) linksOf(row int, sends bool) []int {
	if sends {
		return f.x.sent[row]
	}
	return f.x.got[row]
}

func (f fileLanes) slicesOf(row int) []int { return f.x.slices[row] }

func (f fileLanes) lists() []blockList {
	return []blockList{{blocks: f.x.blocks, end: f.x.events, pages: &f.x.pages}}
}

func (f fileLanes) reader() blockReader {
	a := f.x.about
	return blockReader{origin: a.Origin, limits: eventLimits{rows: len(a.Rows), classes: len(a.Classes), clocks: len(a.Clocks)}}
}

// scanEvents calls see for the events from one on, of the blocks that wanted does not refuse, until it returns false.
func scanEvents(x eventSource, from int64, wanted func(b *block) bool, see func(number int64, h *head, values *decoder) (bool, error)) error {
	r := x.reader()
	for _, l := range x.lists() {
		if l.end <= from {
			continue
		}
		if on, err := l.scan(&r, from, wanted, see); err != nil || !on {
			return err
		}
	}
	return nil
}

// blockList is the events of one file, or of what is not yet in one, up to event end.
type blockList struct {
	blocks []block
	end    int64
	pages  *pageReader
	packed [][]byte // the blocks, where there is no file
}

// scan reports whether see wanted to go on behind the last.
func (l *blockList) scan(r *blockReader, from int64, wanted func(b *block) bool, see func(number int64, h *head, values *decoder) (bool, error)) (bool, error) {
	for i := l.from(from); i < len(l.blocks); i++ {
		if wanted != nil && !wanted(&l.blocks[i]) {
			continue
		}
		if err := l.open(r, i); err != nil {
			return false, err
		}
		for {
			number, h, values, ok, err := r.next()
			if err != nil {
				return false, err
			}
			if !ok {
				break
			}
			if number < from {
				continue
			}
			if on, err := see(number, &h, &values); err != nil || !on {
				return false, err
			}
		}
	}
	return true, nil
}

// from returns the block in which an event is, or the first.
func (l *blockList) from(event int64) int {
	return max(sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > event })-1, 0)
}

// open begins with block i.
func (l *blockList) open(r *blockReader, i int) error {
	packed, err := l.at(i)
	if err != nil {
		return err
	}
	first := l.blocks[i].first
	return r.open(packed, first, int(l.endOf(i)-first))
}

// at returns a block, compressed.
func (l *blockList) at(i int) ([]byte, error) {
	if l.packed != nil {
		return l.packed[i], nil
	}
	return l.pages.page(l.blocks[i].pageRef)
}

// endOf returns the number of the event behind a block.
func (l *blockList) endOf(i int) int64 {
	if i+1 < len(l.blocks) {
		return l.blocks[i+1].first
	}
	return l.end
}

func newEvent(number int64, h *head) Event {
	e := Event{Event: number, At: h.at, Late: h.late, Recorded: h.recorded, Row: h.row, Clock: h.clock, Class: int(h.class),
		Phase: [...]string{"instant", "begin", "end", "counter"}[h.flags&phaseBits]}
	if h.flags&boundedBit != 0 {
		low, high := h.at-h.below, h.at+h.above
		e.Low, e.High = &low, &high
	}
	return e
}

// findEnds finds the other end of an event's message and of its slice.
func findEnds(x eventSource, w *walker, e *Event, h *head) error {
	if h.flags&flowBit != 0 {
		f := named{kind: messages, least: h.at, at: h.at, event: e.Event}
		if err := findMessage(x, w, &f, h); err != nil {
			return err
		}
		if late := x.lateness(); !f.found && late > 0 {
			// The message has the event's own time, which may be before the instant at which the event is shown.
			f.least = h.at - late
			if err := findMessage(x, w, &f, h); err != nil {
				return err
			}
		}
		if f.found {
			e.Flow = &Flow{Sent: f.is.event, Received: f.is.other}
		}
	}
	if p := trace.Phase(h.flags & phaseBits); p != trace.Begin && p != trace.End {
		return nil
	}
	f := named{kind: sliced, least: h.at, at: h.at, event: e.Event}
	for _, n := range x.slicesOf(h.row) {
		if err := x.walk(w, n, &f); err != nil {
			return err
		}
		if f.found {
			e.Slice = &Slice{Begin: f.is.event, End: f.is.other}
			if f.is.flags&noBegin != 0 {
				e.Slice.Begin = -1
			}
			break
		}
	}
	return nil
}

func findMessage(x eventSource, w *walker, f *named, h *head) error {
	for _, n := range x.linksOf(h.row, h.flags&sendsBit != 0) {
		if err := x.walk(w, n, f); err != nil || f.found {
			return err
		}
	}
	return nil
}

// texts writes the fields of events as people read them, as far as there is room.
type texts struct {
	left   int
	needed []bool // which fields are written, of those that it has; all others are, too
	b      []byte
	ends   []textEnd
	fields [][2]string
}

// textEnd is where the text of a field ends, by the field's number.
type textEnd struct{ field, end int }

// of returns the fields of an event, good until the next; without needed, their texts for longer. All texts are parts of one string.
func (t *texts) of(fields []trace.Field, values *decoder) [][2]string {
	t.write(fields, values)
	return t.cut(fields)
}

// write writes the fields of an event one behind the other, with a 0 behind each.
func (t *texts) write(fields []trace.Field, values *decoder) {
	t.b, t.ends = t.b[:0], t.ends[:0]
	for i := 0; len(values.b) > 0 && !values.bad; i++ {
		v := values.value(0)
		if v.Kind == trace.None || i < len(t.needed) && !t.needed[i] {
			continue
		}
		field := &unknownField
		if i < len(fields) {
			field = &fields[i]
		}
		begin := len(t.b)
		t.b = field.Append(t.b, &v)
		if len(t.b)-begin > longestText {
			t.b = append(t.b[:begin+longestText], "..."...)
		}
		t.ends = append(t.ends, textEnd{i, len(t.b)})
		t.b = append(t.b, 0) // lest two halves of a letter be taken for one
	}
	t.left -= len(t.b)
}

// unknownField is one that a class does not have.
var unknownField trace.Field

// cut returns what was written by fields.
func (t *texts) cut(fields []trace.Field) [][2]string {
	t.fields = t.fields[:0]
	all, begin := "", 0
	if t.needed != nil { // a search looks at millions, and keeps none
		all = unsafe.String(unsafe.SliceData(t.b), len(t.b))
	} else {
		all = string(t.b)
	}
	valid := utf8.ValidString(all)
	for _, x := range t.ends {
		text := all[begin:x.end]
		if !valid {
			text = strings.ToValidUTF8(text, "\ufffd")
		}
		name := ""
		if x.field < len(fields) {
			name = fields[x.field].Name
		} else {
			name = fmt.Sprintf("field %d", x.field+1)
		}
		t.fields, begin = append(t.fields, [2]string{name, text}), x.end+1
	}
	return t.fields
}
