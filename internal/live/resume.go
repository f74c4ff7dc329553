package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"meridian/order"
)

// resumption is how far an earlier session was when its index was last written to disk. The next one reads the directories again from
// their beginnings, for the state of rows depends on all that came before, and leaves out what the index has.
type resumption struct {
	Version  int
	Inputs   []resumedInput
	Messages messageProgress
}

// resumedInput is how far one directory was.
type resumedInput struct {
	Host, Dir string
	Given     bool                 // the others were found
	Written   map[string]*progress // of its sequences, by name
	Rows      []int                // the schema's numbers of its rows, in the order in which they appeared
}

const resumptionVersion = 3

// resumption returns how far the session is.
func (s *Session) resumption() ([]byte, error) {
	r := resumption{Version: resumptionVersion, Messages: s.packets.written()}
	for _, in := range s.inputs {
		x := resumedInput{Host: in.name, Dir: in.path(), Given: in.given, Written: make(map[string]*progress)}
		if earlier := s.resumed.of(in); earlier != nil {
			maps.Copy(x.Written, earlier.Written) // those that have not come again yet
		}
		for _, q := range s.sequences {
			if q.in == in {
				x.Written[q.name()] = q.written.merge(q.before)
			}
		}
		if in.rowsOf != nil {
			x.Rows = in.rowsOf.Numbers()
		}
		for i, n := range s.resumed.rows(in) { // likewise
			if i >= len(x.Rows) && !slices.Contains(x.Rows, n) {
				x.Rows = append(x.Rows, n)
			}
		}
		r.Inputs = append(r.Inputs, x)
	}
	if s.resumed != nil {
		for i := range s.resumed.Inputs { // those that were not found again yet
			x := &s.resumed.Inputs[i]
			if !slices.ContainsFunc(r.Inputs, func(y resumedInput) bool { return x.Dir == y.Dir }) {
				r.Inputs = append(r.Inputs, *x)
			}
		}
	}
	return json.Marshal(&r)
}

// resume goes on where an earlier session was, whose schema is that of the rows now. It is called before anything is read.
func (s *Session) resume(text []byte) error {
	var r resumption
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("the index does not say how far it is: %w", err)
	}
	if r.Version != resumptionVersion {
		return fmt.Errorf("the index is of version %d of this program's; name another directory", r.Version)
	}
	given := slices.DeleteFunc(slices.Clone(r.Inputs), func(x resumedInput) bool { return !x.Given })
	if !slices.EqualFunc(given, s.inputs, func(x resumedInput, in *input) bool {
		return x.Dir == in.path() && (in.name == "" || x.Host == in.name)
	}) {
		return errors.New("the index is of other directories, or in another order; name another one")
	}
	s.resumed = &r
	s.schema.Hosts, s.schema.Maps = slices.Clone(s.rows.Hosts), slices.Clone(s.rows.Maps)
	s.maps = make([]mapEntry, len(s.rows.Maps))
	for i := range s.maps {
		s.maps[i] = mapEntry{clock: -1, component: -1 - i} // clocks are aligned anew, and nothing can be compared with what they were
	}
	s.rowNames = order.NewEntries(s.rows)
	return nil
}

// path is the directory wherever the program runs.
func (in *input) path() string {
	if p, err := filepath.Abs(in.dir); err == nil {
		return p
	}
	return in.dir
}

// of returns what is known of an input; nil for nothing.
func (r *resumption) of(in *input) *resumedInput {
	if r == nil {
		return nil
	}
	for i := range r.Inputs {
		if r.Inputs[i].Dir == in.path() {
			return &r.Inputs[i]
		}
	}
	return nil
}

// before returns what of a sequence was written; nil for nothing.
func (r *resumption) before(in *input, x *sequence) *progress {
	if of := r.of(in); of != nil {
		if written := of.Written[x.name()]; written != nil {
			return written
		}
	}
	if r == nil || in.capture == nil {
		return nil
	}
	for i := range r.Inputs { // it had another name
		if of := &r.Inputs[i]; of.Host == in.name && of.Written[x.name()] != nil {
			return of.Written[x.name()]
		}
	}
	return nil
}

// rows returns the rows that an input has in the schema.
func (r *resumption) rows(in *input) []int {
	if of := r.of(in); of != nil {
		return of.Rows
	}
	return nil
}
