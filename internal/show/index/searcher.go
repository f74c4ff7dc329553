package index

import (
	"bytes"
	"strings"
	"unsafe"

	"meridian/trace"
)

// searcher goes through chunks, one after the other.
type searcher struct {
	x       *corpus
	q       query
	reader  blockReader
	texts   texts
	byRow   bool // what is known of events depends on their row, too
	known   [][]answer
	needed  [][]bool // by class, which fields the query looks at
	literal []byte   // lies in every block in which something is found; empty: not known
	folded  []byte
}

// answer is what is known of all events of a class, and of a row where the query asks for it, before their fields are looked at.
type answer struct {
	known, decided, holds bool
	text                  string // lies in the fields of every event that is found; empty: not known
}

func newSearcher(x *corpus, q query) *searcher {
	s := &searcher{x: x, q: q, reader: x.events.reader(), texts: texts{left: 1 << 62}, needed: make([][]bool, len(x.fields))}
	for _, all := range q {
		for i := range all {
			s.byRow = s.byRow || !all[i].word && (all[i].field == "host" || all[i].field == "row")
		}
	}
	s.known = make([][]answer, 1)
	if s.byRow {
		s.known = make([][]answer, len(x.about.Rows))
	}
	for c, fields := range x.fields {
		s.needed[c] = make([]bool, len(fields))
		for i := range fields {
			s.needed[c][i] = q.looksAt(&fields[i])
		}
	}
	s.literal = []byte(x.literal(q))
	return s
}

// literal returns a text that lies in every block in which the query finds something; empty if none is known. It is that of a term
// which no event fulfils by its name, host or row. What numbers, structures and lists are written as does not lie there, so the text
// must have a byte that only texts have, and none that stands between parts.
func (x *corpus) literal(q query) (longest string) {
	if len(q) != 1 {
		return ""
	}
	const plain, onlyInTexts = "abcdefghijklmnopqrstuvwxyz0123456789_-/", "ghjkmopqvwyz_/"
	for i := range q[0] {
		t := &q[0][i]
		if t.operator == ":" && !t.negated && len(t.text) > len(longest) && strings.Trim(t.text, plain) == "" && strings.ContainsAny(t.text, onlyInTexts) && x.onlyInTexts(t) {
			longest = t.text
		}
	}
	return longest
}

// onlyInTexts reports whether an event fulfils a term by fields that are texts, or not at all.
func (x *corpus) onlyInTexts(t *term) bool {
	if _, own := (&found{}).own(t.field); own && !t.word {
		return false
	}
	for c, fields := range x.fields {
		if t.word && t.fulfils(x.about.Classes[c].Name) {
			return false
		}
		for i := range fields {
			if f := &fields[i]; (t.word || t.field == f.Name) && f.Type.Kind != trace.Text && t.possible(f) {
				return false
			}
		}
	}
	return true
}

// skips reports whether no event of the open block is found. A text that is cut ends otherwise than it lies there, so that blocks in
// which one may be are looked through.
func (s *searcher) skips() bool {
	b := s.reader.values.b
	if len(s.literal) == 0 || len(b) > longestText {
		return false
	}
	s.folded = append(s.folded[:0], b...)
	for i, c := range s.folded {
		if c-'A' < 26 {
			s.folded[i] = c + 'a' - 'A'
		}
	}
	return !bytes.Contains(s.folded, s.literal)
}

// looksAt reports whether a value of a field may decide some term.
func (q query) looksAt(f *trace.Field) bool {
	for _, all := range q {
		for i := range all {
			if t := &all[i]; (t.word || t.field == f.Name) && t.possible(f) {
				return true
			}
		}
	}
	return false
}

// search finds the first events of a chunk, up to limit, from an event on.
func (s *searcher) search(c *chunk, from int64, limit int) error {
	for _, i := range c.blocks {
		if err := c.list.open(&s.reader, i); err != nil {
			return err
		}
		if s.skips() {
			continue
		}
		for len(c.hits) < limit {
			number, h, values, ok, err := s.reader.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if number < from {
				continue
			}
			holds, err := s.holds(number, &h, &values)
			if err != nil {
				return err
			}
			if holds {
				c.hits = append(c.hits, Hit{Event: number, At: h.at, Row: h.row, Class: int(h.class)})
			}
		}
	}
	return nil
}

func (s *searcher) holds(number int64, h *head, values *decoder) (bool, error) {
	a := s.ask(h)
	if a.decided {
		return a.holds, nil
	}
	s.texts.needed = s.needed[h.class]
	s.texts.write(s.x.fields[h.class], values)
	if values.bad {
		return false, damaged("the fields of event %d cannot be read", number)
	}
	if a.text != "" && !contains(unsafe.String(unsafe.SliceData(s.texts.b), len(s.texts.b)), a.text) {
		return false, nil
	}
	f := s.own(h.row, int(h.class))
	f.fields = s.texts.cut(s.x.fields[h.class])
	return s.q.matches(&f), nil
}

// inFields returns a text that lies in the fields of every event that the query finds and that has this name, host and row.
// It is empty if none is known, and where a byte that is none of a text's could become one.
func (q query) inFields(f *found) (longest string) {
	if len(q) != 1 {
		return ""
	}
	for i := range q[0] {
		if t := &q[0][i]; t.operator == ":" && !t.negated && len(t.text) > len(longest) && !strings.ContainsAny(t.text, "\x00\ufffd") && !t.some(f) {
			longest = t.text
		}
	}
	return longest
}

func (s *searcher) own(row, class int) found {
	a := s.x.about
	r, c := &a.Rows[row], &a.Classes[class]
	return found{name: c.Name, category: c.Category, host: a.Hosts[r.Host].Name, row: r.Name}
}

func (s *searcher) ask(h *head) answer {
	row := 0
	if s.byRow {
		row = h.row
	}
	if s.known[row] == nil {
		s.known[row] = make([]answer, len(s.x.fields))
	}
	a := &s.known[row][h.class]
	if !a.known {
		f := s.own(h.row, int(h.class))
		*a = s.q.foresee(&f, s.x.fields[h.class])
		a.known, a.text = true, s.q.inFields(&f)
	}
	return *a
}

// foresee says what can be said of all events with some fields.
func (q query) foresee(f *found, fields []trace.Field) answer {
	open := false
	for _, all := range q {
		good := answer{decided: true, holds: true}
		for i := range all {
			a := all[i].foresee(f, fields)
			if a.decided && !a.holds {
				good = a
				break
			}
			good.decided = good.decided && a.decided
		}
		if good.decided && good.holds {
			return good
		}
		open = open || !good.decided
	}
	return answer{decided: !open}
}

func (t *term) foresee(f *found, fields []trace.Field) answer {
	if t.some(f) { // without fields
		return answer{decided: true, holds: !t.negated}
	}
	for i := range fields {
		if (t.word || fields[i].Name == t.field) && t.possible(&fields[i]) {
			return answer{}
		}
	}
	return answer{decided: true, holds: t.negated}
}

// possible reports whether some value of a field may fulfil the term.
func (t *term) possible(f *trace.Field) bool {
	kind := &f.Type
	if _, address := f.Address(&trace.Value{Kind: kind.Kind}); address || t.operator != ":" {
		return true
	}
	switch kind.Kind {
	case trace.Float: // a number, Inf or NaN
		return strings.Trim(t.text, "0123456789.+-einfa") == ""
	case trace.Int, trace.Uint:
		if len(kind.Labels) > 0 {
			return true
		}
		for i := range len(t.text) {
			if c := t.text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != 'x' && c != '-' {
				return false
			}
		}
	}
	return true
}
