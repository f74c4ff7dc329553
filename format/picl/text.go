package picl

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"meridian/clock"
	"meridian/trace"
)

// class is which fields of a class are written.
type class struct {
	known    bool
	numbers  []int // indexes of the fields
	fraction bool  // one of them is a Float
	bytes    int   // the field that says a message's size; -1 for none
}

// mostNumbers in a line, which readers from the time of the format keep in arrays.
const mostNumbers = 16

// class returns a record's class, and names it when it occurs the first time.
func (p *Writer) class(r *trace.TimelineEvent, node, task int) *class {
	for len(p.classes) <= r.Class {
		p.classes = append(p.classes, class{bytes: -1})
	}
	c := &p.classes[r.Class]
	if c.known {
		return c
	}
	c.known = true
	of := &p.progress.Schema.Classes[r.Class]
	words := []string{of.Name}
	size := 0
	for i := range of.Fields[:max(0, len(of.Fields)-of.Context)] {
		f := &of.Fields[i]
		switch f.Type.Kind {
		case trace.Float:
			c.fraction = true
		case trace.Bool, trace.Int, trace.Uint:
			// The first of these names that there is: len often is only a header's.
			for rank, name := range []string{"len", "length", "size", "bytes"} {
				if f.Name == name && rank+1 > size {
					c.bytes, size = i, rank+1
				}
			}
		default:
			continue
		}
		if len(c.numbers) < mostNumbers {
			c.numbers = append(c.numbers, i)
			if len(words) == 1 {
				words = append(words, "of")
			}
			words = append(words, f.Name)
		}
	}
	p.say(r.Time, node, task, "event "+strconv.Itoa(r.Class+1)+" is", words...)
	return c
}

// size is how many bytes a message has, 0 if nothing says it.
func (c *class) size(values []trace.Value) int64 {
	if c.bytes < 0 || c.bytes >= len(values) || values[c.bytes].Kind == trace.Float {
		return 0
	}
	return max(values[c.bytes].Int(), 0)
}

// values ends a line with a class's numbers.
func (p *Writer) values(c *class, values []trace.Value) {
	p.line = strconv.AppendInt(append(p.line, ' '), int64(len(c.numbers)), 10)
	if len(c.numbers) > 0 && c.fraction {
		p.line = append(p.line, ` "`...)
		for i, f := range c.numbers {
			if i > 0 {
				p.line = append(p.line, ' ')
			}
			if f < len(values) && values[f].Kind == trace.Float {
				p.line = append(p.line, "%f"...)
			} else {
				p.line = append(p.line, "%d"...)
			}
		}
		p.line = append(p.line, '"')
	} else if len(c.numbers) > 0 {
		p.line = append(p.line, " 2"...)
	}
	for _, f := range c.numbers {
		p.line = append(p.line, ' ')
		if f >= len(values) {
			p.line = append(p.line, "-1"...)
			continue
		}
		switch v := &values[f]; {
		case v.Kind == trace.Int || v.Kind == trace.Bool:
			p.line = strconv.AppendInt(p.line, v.Int(), 10)
		case v.Kind == trace.Uint:
			p.line = strconv.AppendUint(p.line, v.Uint(), 10)
		case v.Kind == trace.Float && c.fraction && v.Float()-v.Float() == 0: // neither infinite nor NaN
			p.line = strconv.AppendFloat(p.line, v.Float(), 'g', -1, 64)
		default:
			p.line = append(p.line, "-1"...)
		}
	}
	p.line = append(p.line, '\n')
}

// say writes a text. What we say is words with blanks between; names keep together and cannot end the line.
func (p *Writer) say(at clock.TimelineTime, node, task int, start string, names ...string) {
	words := strings.Fields(start)
	for _, name := range names {
		words = append(words, word(name))
	}
	p.head(begin, message, at, node, task)
	p.line = strconv.AppendInt(append(p.line, ' '), int64(len(words)+1), 10)
	p.line = append(p.line, ` "%d`...)
	p.line = append(p.line, strings.Repeat(" %s", len(words))...)
	text := strings.Join(words, " ")
	p.line = strconv.AppendInt(append(p.line, `" `...), int64(len(text)), 10)
	p.line = append(append(append(p.line, ' '), text...), '\n')
	p.emit()
	p.plain(end, message, at, node, task)
}

// word makes one word of a name, of at most 80 characters.
func word(name string) string {
	n := 0
	name = strings.Map(func(r rune) rune {
		n++
		switch {
		case n > 80:
			return -1
		case unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == unicode.ReplacementChar:
			return '_'
		}
		return r
	}, name)
	if name == "" {
		return "_"
	}
	return name
}

func instant(ns clock.TimelineTime) string {
	return time.Unix(0, int64(ns)).UTC().Format(time.RFC3339Nano)
}

// appendSeconds writes ns as seconds with nine decimals, which loses nothing.
func appendSeconds(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	b = append(strconv.AppendUint(b, u/1e9, 10), '.')
	for unit := uint64(1e8); unit > 0; unit /= 10 {
		b = append(b, byte('0'+u/unit%10))
	}
	return b
}
