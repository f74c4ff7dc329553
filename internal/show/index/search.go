package index

import "meridian/trace"

const (
	// mostHits is how many hits are returned at once.
	mostHits = 10_000
	// mostScanned is how many events are looked at in one call, so that it returns within a second or so.
	mostScanned = 1 << 19
)

// Search returns the first events after one (-1: from the first on) that a query in the language of docs/viewer.md finds,
// up to limit. It may return fewer and go on from Next.
func (x *Index) Search(text string, after int64, limit int) (*Found, error) {
	c := corpus{about: x.about, fields: x.fields, events: fileLanes{x}}
	return c.search(text, after, limit)
}

// corpus is what a search goes through.
type corpus struct {
	about  *About
	fields [][]trace.Field
	events eventSource
}

func (x *corpus) search(text string, after int64, limit int) (*Found, error) {
	q, err := parseQuery(text)
	if err != nil {
		return nil, err
	}
	s := &search{x: x, q: q, events: make(map[[2]int]answer)}
	limit = min(max(limit, 1), mostHits)
	out := &Found{Found: []Hit{}, Next: -1}
	from := max(after, -1) + 1
	if from >= x.about.Events {
		return out, nil
	}
	scanned := int64(0)
	texts := texts{left: 1 << 62}
	err = x.events.scan(from, x.mayHold(q), func(number int64, h *head, values *decoder) (bool, error) {
		if len(out.Found) == limit || scanned == mostScanned {
			out.Next = number - 1
			return false, nil
		}
		scanned++
		a := s.ask(h)
		if a.decided && !a.holds {
			return true, nil
		}
		if !a.decided {
			f := s.own(h.row, int(h.class))
			f.fields = texts.of(x.fields[h.class], values)
			if values.bad {
				return false, damaged("the fields of event %d cannot be read", number)
			}
			if !q.matches(&f) {
				return true, nil
			}
		}
		out.Found = append(out.Found, Hit{Event: number, At: h.at, Row: h.row, Class: int(h.class)})
		return true, nil
	})
	return out, err
}

// mayHold tells in which blocks there may be an event that the query finds: by the classes and the rows that occur there.
func (x *corpus) mayHold(q query) func(b *block) bool {
	a := x.about
	places := map[string]bool{"host": true, "row": true} // what a class does not decide
	for _, fields := range x.fields {
		for i := range fields {
			delete(places, fields[i].Name) // but where it is a field as well
		}
	}
	var classes, rows uint64
	for i := range a.Classes {
		f := found{name: a.Classes[i].Name, category: a.Classes[i].Category}
		if q.possible(func(t *term) bool {
			if !t.word && (t.field == "host" || t.field == "row") {
				return true
			}
			w := t.foresee(&f, x.fields[i])
			return !w.decided || w.holds
		}) {
			classes |= 1 << (i % 64)
		}
	}
	for i := range a.Rows {
		f := found{host: a.Hosts[a.Rows[i].Host].Name, row: a.Rows[i].Name}
		if q.possible(func(t *term) bool { return t.word || !places[t.field] || t.holds(&f) }) {
			rows |= 1 << (i % 64)
		}
	}
	return func(b *block) bool { return b.classes&classes != 0 && b.rows&rows != 0 }
}

// possible reports whether all terms of some alternative may hold.
func (q query) possible(may func(t *term) bool) bool {
	for _, all := range q {
		good := true
		for i := range all {
			good = good && may(&all[i])
		}
		if good {
			return true
		}
	}
	return false
}

// search knows what a query says of events by their row and class alone.
type search struct {
	x      *corpus
	q      query
	events map[[2]int]answer
}

// answer is what is known before the fields are looked at.
type answer struct{ decided, holds bool }

func (s *search) own(row, class int) found {
	a := s.x.about
	r, c := &a.Rows[row], &a.Classes[class]
	return found{name: c.Name, category: c.Category, host: a.Hosts[r.Host].Name, row: r.Name}
}

func (s *search) ask(h *head) answer {
	key := [2]int{h.row, int(h.class)}
	a, ok := s.events[key]
	if !ok {
		f := s.own(h.row, int(h.class))
		a = s.q.foresee(&f, s.x.fields[h.class])
		s.events[key] = a
	}
	return a
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
		if (t.word || fields[i].Name == t.field) && t.possible(&fields[i].Type) {
			return answer{}
		}
	}
	return answer{decided: true, holds: t.negated}
}

// possible reports whether some value of a type may fulfil the term.
func (t *term) possible(kind *trace.Type) bool {
	if t.operator != ":" {
		return true
	}
	switch kind.Kind {
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
