package index

import (
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"meridian/trace"
)

// digitsOfIdentifier is how many hexadecimal digits an identifier has.
const digitsOfIdentifier = 16

// roundOfIdentifiers is how many chunks a processor has in each round: what they hold waits in memory, 8 bytes an identifier.
const roundOfIdentifiers = 4

// Identifiers shows the values of some fields as numbers, of all events from one on whose classes have the first of them, in their order:
// what the last 16 hexadecimal digits of the field's text are. It is 0 for a field that an event has not, and for a text that
// ends otherwise. The numbers are only valid during the call. Blocks are read on all processors.
func (x *Index) Identifiers(from int64, names []string, see func(event int64, ids []uint64)) error {
	return identifiersOf(fileLanes{x}, x.fields, from, names, see)
}

// Identifiers is as for an [Index].
func (v *View) Identifiers(from int64, names []string, see func(event int64, ids []uint64)) error {
	return identifiersOf(viewLanes{v}, v.fields(), from, names, see)
}

func identifiersOf(x eventSource, fields [][]trace.Field, from int64, names []string, see func(event int64, ids []uint64)) error {
	of := identifierReader{fields: fields, places: make([][]int, len(fields))}
	var classes uint64
	for c := range fields {
		for _, name := range names {
			of.places[c] = append(of.places[c], slices.IndexFunc(fields[c], func(f trace.Field) bool { return f.Name == name }))
		}
		if len(names) > 0 && of.places[c][0] >= 0 {
			classes |= 1 << (c % 64)
		}
	}
	if classes == 0 {
		return nil
	}
	chunks := chunksOf(x, from, func(b *block) bool { return b.classes&classes != 0 })
	readers := make([]identifierReader, runtime.GOMAXPROCS(0))
	for i := range readers {
		readers[i] = of
		readers[i].r = x.reader()
	}
	lists := make([]identifiers, min(len(readers)*roundOfIdentifiers, len(chunks)))
	for len(chunks) > 0 {
		n := min(len(lists), len(chunks))
		if err := identifyRound(readers, chunks[:n], lists, from); err != nil {
			return err
		}
		chunks = chunks[n:]
		for i := range lists[:n] {
			for k, event := range lists[i].events {
				see(event, lists[i].ids[k*len(names):][:len(names)])
			}
		}
	}
	return nil
}

// identifyRound reads each of some chunks by one reader.
func identifyRound(readers []identifierReader, chunks []*chunk, lists []identifiers, from int64) error {
	var group errgroup.Group
	var next atomic.Int64
	for i := range min(len(readers), len(chunks)) {
		group.Go(func() error {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(chunks) {
					return nil
				}
				if err := readers[i].read(chunks[n], from, &lists[n]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// identifiers are those of some events, as many of each.
type identifiers struct {
	events []int64
	ids    []uint64
}

type identifierReader struct {
	fields [][]trace.Field
	places [][]int // by class, of each name; -1 where the class has no such field
	r      blockReader
	text   []byte
}

func (x *identifierReader) read(c *chunk, from int64, out *identifiers) error {
	out.events, out.ids = out.events[:0], out.ids[:0]
	for _, i := range c.blocks {
		if err := c.list.open(&x.r, i); err != nil {
			return err
		}
		for {
			number, h, values, ok, err := x.r.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if places := x.places[h.class]; number >= from && places[0] >= 0 && len(values.b) > 0 {
				if !x.event(out, places, x.fields[h.class], &values) {
					return damaged("the fields of event %d cannot be read", number)
				}
				out.events = append(out.events, number)
			}
		}
	}
	return nil
}

// event appends the identifiers of an event; false if its values are damaged.
func (x *identifierReader) event(out *identifiers, places []int, fields []trace.Field, values *decoder) bool {
	begin := len(out.ids)
	for range places {
		out.ids = append(out.ids, 0)
	}
	for i := 0; len(values.b) > 0 && !values.bad; i++ {
		v := values.value(0)
		for k, place := range places {
			if place == i {
				out.ids[begin+k] = x.of(&fields[i], &v)
			}
		}
	}
	return !values.bad
}

func (x *identifierReader) of(f *trace.Field, v *trace.Value) uint64 {
	text := v.Data
	if v.Kind == trace.None {
		return 0
	}
	if v.Kind != trace.Text {
		x.text = f.Append(x.text[:0], v)
		text = x.text
	}
	return identifierOf(text)
}

// identifierOf returns the number that a text ends with, in hexadecimal; 0 if it does not.
func identifierOf(text []byte) (id uint64) {
	for _, c := range text[max(0, len(text)-digitsOfIdentifier):] {
		d := hexDigits[c]
		if d == 0 {
			return 0
		}
		id = id<<4 | uint64(d-1)
	}
	return id
}

// hexDigits has 1 more than the value of each hexadecimal digit.
var hexDigits = func() (of [256]byte) {
	for i := range byte(16) {
		of["0123456789abcdef"[i]], of["0123456789ABCDEF"[i]] = i+1, i+1
	}
	return of
}()
