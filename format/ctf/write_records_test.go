package ctf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

// timeline is a schema with records, as tests make them.
type timeline struct {
	schema  *trace.Schema
	records []trace.TimelineEvent
}

// expectedLine returns what babeltrace2 prints of a record, with --clock-seconds and --no-delta: written down from the
// description of the layout, not from the writer.
func (l *timeline) expectedLine(r *trace.TimelineEvent, bounds bool) string {
	c, s := l.schema.Classes[r.Class], l.schema.Streams[r.Stream]
	var b strings.Builder
	sign, ns := "", uint64(r.Time)
	if r.Time < 0 {
		sign, ns = "-", -ns
	}
	name := c.Name + []string{"", ":begin", ":end", ":counter"}[r.Phase]
	fmt.Fprintf(&b, "[%s%d.%09d] %s %s: ", sign, ns/1e9, ns%1e9, l.schema.Hosts[r.Host], name)

	row := []string{"row = " + expectedText(s.Name), fmt.Sprintf("row_kind = %q", s.Kind), fmt.Sprintf("row_id = %d", s.ID)}
	if s.Kind == trace.CPU {
		row = append([]string{fmt.Sprintf("cpu_id = %d", s.ID)}, row...)
	}
	if s.Parent >= 0 {
		row = append(row, "row_parent = "+expectedText(l.schema.Streams[s.Parent].Name))
	}
	fmt.Fprintf(&b, "{ %s }, ", strings.Join(row, ", "))
	switch {
	case bounds && !r.Bounded:
		fmt.Fprintf(&b, "{ recorded = %d }, ", r.Event.Time)
	case bounds:
		fmt.Fprintf(&b, "{ recorded = %d, early = %d, late = %d }, ", r.Event.Time, int64(r.Time-r.Low), int64(r.High-r.Time))
	}
	var own, fields []string
	if r.Slice != 0 {
		own = append(own, fmt.Sprint("slice = ", r.Slice))
	}
	if r.Flow != 0 {
		own = append(own, fmt.Sprint("flow = ", r.Flow))
	}
	if r.Role != 0 {
		own = append(own, fmt.Sprintf("role = ( %q : container = %d )", []string{"none", "sends", "receives", "enters", "leaves"}[r.Role], r.Role))
	}
	extras := len(own)
	for i, f := range c.Fields {
		if i >= len(r.Values) || r.Values[i].Kind == trace.None {
			continue
		}
		text := expectedField(f.Name, &f.Type, &r.Values[i])
		if i < len(c.Fields)-c.Context {
			fields = append(fields, text)
		} else {
			own = append(own, text)
		}
	}
	for i := len(c.Fields) - c.Context; i < len(c.Fields); i++ {
		if variable(&c.Fields[i].Type) {
			fields = append(fields, "_context = "+expectedStruct(own[extras:]))
			own = own[:extras]
			break
		}
	}
	if len(own) > 0 {
		fmt.Fprintf(&b, "{ %s }, ", strings.Join(own, ", "))
	}
	b.WriteString(expectedStruct(fields))
	return b.String()
}

// variable reports whether a value needs a length or a selector somewhere.
func variable(t *trace.Type) bool {
	for i := range t.Fields {
		if variable(&t.Fields[i].Type) {
			return true
		}
	}
	return t.Kind == trace.Bytes || t.Kind == trace.Variant || t.Kind == trace.Array && (t.Length == 0 || variable(t.Elem))
}

func expectedStruct(fields []string) string {
	if len(fields) == 0 {
		return "{ }"
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

func expectedText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "'", `\'`, "?", `\?`, "\n", `\n`, "\t", `\t`, "\x00", "␀").Replace(s) + `"`
}

// expectedField returns name = value, behind the length or the selector.
func expectedField(name string, t *trace.Type, v *trace.Value) string {
	switch t.Kind {
	case trace.Bytes:
		return fmt.Sprintf("_%s_length = %d, %s = %s", name, len(v.Data), name, expectedValue(t, v))
	case trace.Array:
		if t.Length == 0 {
			return fmt.Sprintf("_%s_length = %d, %s = %s", name, len(v.Items), name, expectedValue(t, v))
		}
	case trace.Variant:
		return fmt.Sprintf("_%s_tag = ( \"_%s\" : container = %d ), %s = %s", name, t.Fields[v.Bits].Name, v.Bits, name, expectedValue(t, v))
	}
	return name + " = " + expectedValue(t, v)
}

// expectedElement returns a value where there is no room for a second field: a structure around both then.
func expectedElement(t *trace.Type, v *trace.Value) string {
	if t.Kind == trace.Bytes || t.Kind == trace.Variant || t.Kind == trace.Array && t.Length == 0 {
		return "{ " + expectedField("value", t, v) + " }"
	}
	return expectedValue(t, v)
}

func expectedValue(t *trace.Type, v *trace.Value) string {
	var parts []string
	list := func() string {
		for i := range parts {
			parts[i] = fmt.Sprintf("[%d] = %s", i, parts[i])
		}
		if len(parts) == 0 {
			return "[ ]"
		}
		return "[ " + strings.Join(parts, ", ") + " ]"
	}
	switch t.Kind {
	case trace.Bool:
		return fmt.Sprintf("( \"%t\" : container = %d )", v.Bool(), v.Bits)
	case trace.Int, trace.Uint:
		return expectedInteger(t, v)
	case trace.Float:
		f := v.Float()
		switch {
		case math.IsNaN(f) && math.Signbit(f):
			return "-nan"
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 0):
			return strings.TrimPrefix(strings.ToLower(fmt.Sprint(f)), "+")
		}
		return strconv.FormatFloat(f, 'g', 6, 64)
	case trace.Text:
		return expectedText(string(v.Data))
	case trace.Bytes:
		for _, x := range v.Data {
			parts = append(parts, fmt.Sprintf("0x%X", x))
		}
		return list()
	case trace.Array:
		for i := range v.Items {
			parts = append(parts, expectedElement(t.Elem, &v.Items[i]))
		}
		return list()
	case trace.Struct:
		for i := range t.Fields {
			parts = append(parts, expectedField(t.Fields[i].Name, &t.Fields[i].Type, &v.Items[i]))
		}
		return expectedStruct(parts)
	case trace.Variant:
		return "{ " + expectedElement(&t.Fields[v.Bits].Type, &v.Items[0]) + " }"
	}
	return "?"
}

func expectedInteger(t *trace.Type, v *trace.Value) string {
	bits := t.Bits
	if bits == 0 {
		bits = 64
	}
	var text string
	switch {
	case t.Base == 16:
		text = fmt.Sprintf("0x%X", v.Bits&(math.MaxUint64>>(64-(bits+3)/4*4)))
	case t.Base == 8:
		text = fmt.Sprintf("0%o", v.Bits&(math.MaxUint64>>max(0, 64-(bits+2)/3*3)))
	case t.Base == 2:
		text = fmt.Sprintf("0b%0*b", bits, v.Bits&(math.MaxUint64>>(64-bits)))
	case t.Kind == trace.Int:
		text = fmt.Sprint(v.Int())
	default:
		text = fmt.Sprint(v.Uint())
	}
	if len(t.Labels) == 0 {
		return text
	}
	label := "<unknown>"
	if l := t.Label(v); l != "" {
		label = expectedText(l)
	}
	return fmt.Sprintf("( %s : container = %s )", label, text)
}

// How timelines are drawn. babeltrace2 2.0 prints an empty text as what its field held before (its pull request 116), so
// for it no text is empty.

func drawType(t *rapid.T, depth int) trace.Type {
	kinds := []trace.ValueKind{trace.Bool, trace.Int, trace.Uint, trace.Float, trace.Text, trace.Bytes}
	if depth > 0 {
		kinds = append(kinds, trace.Struct, trace.Array, trace.Variant)
	}
	x := trace.Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch x.Kind {
	case trace.Int, trace.Uint:
		x.Bits = rapid.SampledFrom([]int{0, 1, 3, 8, 13, 16, 24, 32, 63, 64}).Draw(t, "bits")
		x.Base = rapid.SampledFrom([]int{0, 2, 8, 10, 16}).Draw(t, "base")
		if rapid.IntRange(0, 3).Draw(t, "enumeration") == 0 {
			x.Labels = []trace.Label{{Name: "zero", Low: 0, High: 0}, {Name: "a \"few\"\\\n", Low: 1, High: 2}, {Name: "more", Low: 5, High: 100000}}
			if x.Kind == trace.Int {
				x.Labels = append(x.Labels, trace.Label{Name: "negative", Low: math.MinInt64, High: -1})
			} else {
				x.Labels = append(x.Labels, trace.Label{Name: "huge", Low: math.MinInt64, High: -1})
			}
			if x.Bits > 0 && x.Bits < 16 {
				x.Labels = x.Labels[:2]
			}
		}
	case trace.Float:
		x.Bits = rapid.SampledFrom([]int{0, 32, 64}).Draw(t, "bits")
	case trace.Struct:
		x.Fields = drawFields(t, depth-1, rapid.IntRange(0, 3).Draw(t, "members"))
	case trace.Variant:
		x.Fields = drawFields(t, depth-1, rapid.IntRange(1, 3).Draw(t, "alternatives"))
	case trace.Array:
		elem := drawType(t, depth-1)
		if elem.Kind == trace.Uint && elem.Bits == 8 && elem.Base == 16 && elem.Labels == nil {
			return trace.Type{Kind: trace.Bytes} // which it is in CTF
		}
		x.Elem, x.Length = &elem, rapid.IntRange(0, 3).Draw(t, "length")
	}
	return x
}

func drawFields(t *rapid.T, depth, n int) []trace.Field {
	fields := make([]trace.Field, n)
	for i := range fields {
		fields[i] = trace.Field{Name: fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"f", "int", "Field_", "id"}).Draw(t, "name"), i), Type: drawType(t, depth)}
	}
	return fields
}

func drawValue(t *rapid.T, x *trace.Type, shortest int) trace.Value {
	n := uint64(0)
	if x.Kind == trace.Int || x.Kind == trace.Uint {
		n = rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 2, 3, math.MaxInt64, 1 << 63, math.MaxUint64})).Draw(t, "number")
	}
	unused := 0
	if x.Bits > 0 {
		unused = 64 - x.Bits
	}
	items := func(n int, of func(i int) *trace.Type) []trace.Value {
		items := make([]trace.Value, n)
		for i := range items {
			items[i] = drawValue(t, of(i), shortest)
		}
		return items
	}
	switch x.Kind {
	case trace.Bool:
		return trace.OfBool(rapid.Bool().Draw(t, "bool"))
	case trace.Int:
		return trace.OfInt(int64(n) << unused >> unused)
	case trace.Uint:
		return trace.OfUint(n << unused >> unused)
	case trace.Float:
		f := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1e300, 5e-324})).Draw(t, "float")
		if x.Bits == 32 {
			f = float64(float32(f))
		}
		return trace.OfFloat(f)
	case trace.Text:
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aZ0 ü€😀\n\t\"\\'?%{}=")), shortest, 12, -1).Draw(t, "text")
		return trace.OfText(text)
	case trace.Bytes:
		return trace.OfBytes(rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "bytes"))
	case trace.Struct:
		return structOf(items(len(x.Fields), func(i int) *trace.Type { return &x.Fields[i].Type })...)
	case trace.Array:
		n := x.Length
		if n == 0 {
			n = rapid.IntRange(0, 3).Draw(t, "items")
		}
		return arrayOf(items(n, func(int) *trace.Type { return x.Elem })...)
	case trace.Variant:
		i := rapid.IntRange(0, len(x.Fields)-1).Draw(t, "alternative")
		return choiceOf(i, drawValue(t, &x.Fields[i].Type, shortest))
	}
	return trace.Value{}
}

// drawTimeline draws hosts, rows, classes and records with all that these can be, and no two at one time.
func drawTimeline(t *rapid.T, shortest int) *timeline {
	l := &trace.Schema{Hosts: []string{"web", "db"}}
	if rapid.Bool().Draw(t, "aligned") {
		l.Method, l.Assumption = "envelope", "clocks wander by \"1 ppm\""
	}
	for h, host := range l.Hosts {
		for i := range rapid.IntRange(1, 5).Draw(t, "rows") {
			s := trace.Stream{Name: fmt.Sprint("row ", h, " ", i), Host: host, ID: rapid.Int64Range(0, 1<<32-1).Draw(t, "id"), Parent: -1,
				Kind: trace.StreamKind(rapid.IntRange(0, int(trace.StreamKinds)-1).Draw(t, "kind"))}
			if i > 0 && rapid.Bool().Draw(t, "child") {
				s.Parent = len(l.Streams) - 1
			}
			l.Streams = append(l.Streams, s)
		}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "classes") {
		c := trace.Class{Name: fmt.Sprintf("%s %d%s", rapid.SampledFrom([]string{"ü", "a:b", `"\`, "%s"}).Draw(t, "class"), i,
			rapid.SampledFrom([]string{"", "", ":begin", ":end", ":counter", ":instant"}).Draw(t, "ending"))}
		c.Fields = drawFields(t, 3, rapid.IntRange(0, 5).Draw(t, "fields"))
		c.Context = rapid.IntRange(0, len(c.Fields)).Draw(t, "context")
		l.Classes = append(l.Classes, c)
	}
	x := &timeline{schema: l}
	now := clock.TimelineTime(rapid.Int64Range(-1e15, 2e18).Draw(t, "begin"))
	for range rapid.IntRange(1, 20).Draw(t, "records") {
		now += clock.TimelineTime(rapid.Int64Range(1, 3e9).Draw(t, "step"))
		var r trace.TimelineEvent
		r.Time, r.Event.Time = now, clock.HostTime(now)+clock.HostTime(rapid.Int64Range(-1e9, 1e9).Draw(t, "offset"))
		r.Bounded = rapid.IntRange(0, 3).Draw(t, "bounded") > 0
		r.Low, r.High = now-clock.TimelineTime(rapid.Int64Range(0, 1e6).Draw(t, "early")), now+clock.TimelineTime(rapid.Int64Range(0, 1e6).Draw(t, "late"))
		r.Stream = rapid.IntRange(0, len(l.Streams)-1).Draw(t, "row")
		if l.Streams[r.Stream].Host == "db" {
			r.Host = 1
		}
		r.Class = rapid.IntRange(0, len(l.Classes)-1).Draw(t, "class")
		r.Phase = trace.Phase(rapid.IntRange(0, 3).Draw(t, "phase"))
		if rapid.IntRange(0, 3).Draw(t, "extras") == 0 {
			r.Slice, r.Flow = rapid.Uint64().Draw(t, "slice"), rapid.Uint64().Draw(t, "flow")
			r.Role = trace.Role(rapid.IntRange(0, 4).Draw(t, "role"))
		}
		fields := l.Classes[r.Class].Fields
		for i := range fields {
			if rapid.IntRange(0, 5).Draw(t, "absent") == 0 {
				r.Values = append(r.Values, trace.Value{})
			} else {
				r.Values = append(r.Values, drawValue(t, &fields[i].Type, shortest))
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "short") == 0 {
			r.Values = r.Values[:rapid.IntRange(0, len(r.Values)).Draw(t, "values")]
		}
		x.records = append(x.records, r)
	}
	return x
}
