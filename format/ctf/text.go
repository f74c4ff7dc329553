package ctf

import (
	"bufio"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// TextWriter prints events as babeltrace2 does:
//
//	[hh:mm:ss.nnnnnnnnn] (+s.nnnnnnnnn) host name: { cpu_id = 1 }, { context }, { fields }
//
// It serves to compare the two, and people who are used to this form.
type TextWriter struct {
	w       *bufio.Writer
	s       *Source
	zone    *time.Location
	origin  string // the trace's host, process and its number
	before  clock.HostTime
	printed bool
	line    []byte
}

// NewTextWriter returns a writer of the events of s that prints times of day of a time zone; nil stands for UTC.
func NewTextWriter(w io.Writer, s *Source, zone *time.Location) *TextWriter {
	if zone == nil {
		zone = time.UTC
	}
	t := &TextWriter{w: bufio.NewWriterSize(w, 1<<16), s: s, zone: zone}
	env := s.t.Env()
	join := func(text string) {
		if t.origin != "" {
			t.origin += ":"
		}
		t.origin += text
	}
	for _, name := range []string{"hostname", "procname"} {
		if v, ok := env[name]; ok {
			join(v)
		}
	}
	if v, ok := env["vpid"]; ok {
		join("(" + v + ")")
	}
	if t.origin != "" {
		t.origin += " "
	}
	return t
}

// All prints the events that the source still has.
func (t *TextWriter) All() error {
	for {
		var e trace.Event
		if err := t.s.Next(&e); err == io.EOF {
			return t.w.Flush()
		} else if err != nil {
			return err
		}
		if err := t.Event(); err != nil {
			return err
		}
	}
}

// Event prints the current event of the source. Call Flush after the last one.
func (t *TextWriter) Event() error {
	r := t.s.Reader()
	if r == nil || r.ev == nil {
		return errors.New("ctf: no current event")
	}
	b := t.line[:0]
	if r.clock.known {
		b = t.stamp(b, r.Time())
	}
	b = append(b, t.origin...)
	name := r.ev.nameWritten
	if name == "" {
		name = "<unknown>"
	}
	b = append(append(b, name...), ": "...)
	first := true
	for _, scope := range []Scope{PacketContextScope, CommonContextScope, EventContextScope, PayloadScope} {
		kind, values := r.Fields(scope)
		if kind == nil || scope == PacketContextScope && !anyPrinted(kind) {
			continue
		}
		if !first {
			b = append(b, ", "...)
		}
		first = false
		b = t.fields(b, kind, values, scope == PacketContextScope)
	}
	t.line = append(b, '\n')
	_, err := t.w.Write(t.line)
	return err
}

// Flush writes buffered text.
func (t *TextWriter) Flush() error { return t.w.Flush() }

func (t *TextWriter) stamp(b []byte, ns clock.HostTime) []byte {
	if ns < 0 {
		u := uint64(-ns)
		b = append(b, "[-"...)
		b = strconv.AppendUint(b, u/second, 10)
		b = appendPadded(append(b, '.'), u%second, 9)
	} else {
		at := time.Unix(int64(ns)/second, 0).In(t.zone)
		b = appendPadded(append(b, '['), uint64(at.Hour()), 2)
		b = appendPadded(append(b, ':'), uint64(at.Minute()), 2)
		b = appendPadded(append(b, ':'), uint64(at.Second()), 2)
		b = appendPadded(append(b, '.'), uint64(int64(ns)%second), 9)
	}
	b = append(b, "] (+"...)
	if t.printed {
		d := uint64(ns - t.before)
		b = strconv.AppendUint(b, d/second, 10)
		b = appendPadded(append(b, '.'), d%second, 9)
	} else {
		b = append(b, "?.?????????"...)
	}
	t.before, t.printed = ns, true
	return append(b, ") "...)
}

func appendPadded(b []byte, v uint64, width int) []byte {
	var digits [20]byte
	for i := width - 1; i >= 0; i-- {
		digits[i] = byte('0' + v%10)
		v /= 10
	}
	return append(b, digits[:width]...)
}

// isPrinted reports whether babeltrace2 prints a field of the packet context: it omits those that only describe the packet.
func isPrinted(f Field) bool { return f.Type.Role == NoRole || f.Type.Role == CPU }

func anyPrinted(t *Type) bool {
	for _, f := range t.Fields {
		if isPrinted(f) {
			return true
		}
	}
	return false
}

func (t *TextWriter) fields(b []byte, kind *Type, values []trace.Value, packet bool) []byte {
	b = append(b, '{')
	sep := " "
	for i := range min(len(values), len(kind.Fields)) {
		if packet && !isPrinted(kind.Fields[i]) {
			continue
		}
		b = append(append(append(b, sep...), kind.Fields[i].Name...), " = "...)
		b = t.value(b, kind.Fields[i].Type, &values[i])
		sep = ", "
	}
	return append(b, " }"...)
}

func (t *TextWriter) value(b []byte, kind *Type, v *trace.Value) []byte {
	switch v.Kind {
	case trace.Bool:
		return strconv.AppendBool(b, v.Bool())
	case trace.Int, trace.Uint:
		if kind.Kind == BitArray {
			return appendUpper(append(b, "0x"...), v.Bits)
		}
		if len(kind.Labels) > 0 {
			return t.enumeration(b, kind, v)
		}
		return appendInteger(b, kind, v)
	case trace.Float:
		return appendFloat(b, v.Float())
	case trace.Text:
		return appendQuoted(b, v.Data)
	case trace.Bytes:
		return t.bytes(b, kind, v.Data)
	case trace.Struct:
		return t.fields(b, kind, v.Items, false)
	case trace.Array:
		b = append(b, '[')
		sep := " ["
		for i := range v.Items {
			b = strconv.AppendInt(append(b, sep...), int64(i), 10)
			b = t.value(append(b, "] = "...), kind.Elem, &v.Items[i])
			sep = ", ["
		}
		return append(b, " ]"...)
	case trace.Variant:
		b = append(b, "{ "...)
		if k := v.Bits; k < uint64(len(kind.Fields)) && len(v.Items) == 1 {
			b = t.value(b, kind.Fields[k].Type, &v.Items[0])
		}
		return append(b, " }"...)
	}
	return append(b, "<none>"...)
}

func (t *TextWriter) bytes(b []byte, kind *Type, data []byte) []byte {
	if kind.Elem == nil { // a blob
		b = append(b, "{ "...)
		for _, x := range data {
			b = append(b, "0123456789abcdef"[x>>4], "0123456789abcdef"[x&15], ' ')
		}
		return append(b, '}')
	}
	b = append(b, '[')
	sep := " ["
	for i, x := range data {
		b = strconv.AppendInt(append(b, sep...), int64(i), 10)
		one := trace.OfUint(uint64(x))
		b = appendInteger(append(b, "] = "...), kind.Elem, &one)
		sep = ", ["
	}
	return append(b, " ]"...)
}

func (t *TextWriter) enumeration(b []byte, kind *Type, v *trace.Value) []byte {
	b = append(b, "( "...)
	sep := ""
	for i := range kind.Labels {
		l := &kind.Labels[i]
		if containsValue(l.Ranges, v.Bits, kind.Signed) {
			b = appendQuoted(append(b, sep...), []byte(l.Name))
			sep = ", "
		}
	}
	if sep == "" {
		b = append(b, "<unknown>"...)
	}
	b = append(b, " : container = "...)
	return append(appendInteger(b, kind, v), " )"...)
}

func appendInteger(b []byte, kind *Type, v *trace.Value) []byte {
	x, width := v.Bits, uint(kind.Size)
	if width == 0 || width > 64 {
		width = 64
	}
	// Negative numbers are shown by their bits, to the next full digit.
	cut := func(digit uint) uint64 {
		if n := (width + digit - 1) / digit * digit; n < 64 {
			return x & (1<<n - 1)
		}
		return x
	}
	switch kind.Base {
	case 2:
		b = append(b, "0b"...)
		for i := int(width) - 1; i >= 0; i-- {
			b = append(b, byte('0'+x>>i&1))
		}
		return b
	case 8:
		if v.Kind == trace.Int && width < 64 {
			x = cut(3)
		}
		return strconv.AppendUint(append(b, '0'), x, 8)
	case 16:
		return appendUpper(append(b, "0x"...), cut(4))
	}
	if v.Kind == trace.Int {
		return strconv.AppendInt(b, int64(x), 10)
	}
	return strconv.AppendUint(b, x, 10)
}

func appendUpper(b []byte, v uint64) []byte {
	start := len(b)
	b = strconv.AppendUint(b, v, 16)
	for i := start; i < len(b); i++ {
		if b[i] >= 'a' {
			b[i] -= 'a' - 'A'
		}
	}
	return b
}

// appendFloat prints as C's %g does.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		if math.Signbit(f) {
			b = append(b, '-')
		}
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, f, 'g', 6, 64)
}

// appendQuoted prints text with the escapes of C.
func appendQuoted(b, text []byte) []byte {
	b = append(b, '"')
	for _, c := range text {
		switch {
		case c == '\\' || c == '\'' || c == '"' || c == '?':
			b = append(b, '\\', c)
		case c >= 7 && c <= 13:
			b = append(b, '\\', "abtnvfr"[c-7])
		case c == 27:
			b = append(b, '\\', 'e')
		case c < 32 || c == 127:
			b = append(b, '\\', 'x', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
