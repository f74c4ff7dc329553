package table

import (
	"math"
	"strconv"
	"unicode/utf8"

	"meridian/format/internal/timeline"
	"meridian/trace"
)

// AppendJSON appends a value as JSON: integers with all their digits, what is no number (NaN, infinities) and bytes in
// hexadecimal as strings, enumerations by label, a choice as an object of the alternative, and fields that are addresses
// ([trace.Field.Address]) as strings.
func AppendJSON(b []byte, v *trace.Value, t *trace.Type) []byte {
	switch v.Kind {
	case trace.Bool:
		return strconv.AppendBool(b, v.Bits != 0)
	case trace.Int, trace.Uint:
		if label := t.Label(v); label != "" {
			return AppendString(b, label)
		}
		if v.Kind == trace.Int {
			return strconv.AppendInt(b, v.Int(), 10)
		}
		return strconv.AppendUint(b, v.Uint(), 10)
	case trace.Float:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return strconv.AppendQuote(b, strconv.FormatFloat(f, 'g', -1, 64))
		}
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case trace.Text:
		return AppendString(b, v.Data)
	case trace.Bytes:
		return append(v.Append(append(b, '"'), t), '"')
	case trace.Struct:
		b = append(b, '{')
		for i := range min(len(v.Items), len(t.Fields)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendString(b, t.Fields[i].Name), ':')
			b = appendField(b, &v.Items[i], &t.Fields[i])
		}
		return append(b, '}')
	case trace.Array:
		b = append(b, '[')
		if t.Elem != nil {
			for i := range v.Items {
				if i > 0 {
					b = append(b, ',')
				}
				b = AppendJSON(b, &v.Items[i], t.Elem)
			}
		}
		return append(b, ']')
	case trace.Variant:
		if v.Bits < uint64(len(t.Fields)) && len(v.Items) == 1 {
			f := &t.Fields[v.Bits]
			b = append(AppendString(append(b, '{'), f.Name), ':')
			return append(appendField(b, &v.Items[0], f), '}')
		}
	}
	return append(b, "null"...)
}

// appendField appends the value of a field, whose name may say that it is an address.
func appendField(b []byte, v *trace.Value, f *trace.Field) []byte {
	if a, ok := f.Address(v); ok {
		return append(a.AppendTo(append(b, '"')), '"')
	}
	return AppendJSON(b, v, &f.Type)
}

// AppendString appends a text as a JSON string: control characters are escaped, bytes that are no UTF-8 become U+FFFD.
func AppendString[T string | []byte](b []byte, text T) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; ; i++ { // nearly all texts are of letters alone
		if i == len(text) {
			return append(append(b, text...), '"')
		}
		if c := text[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			break
		}
	}
	for len(text) > 0 {
		r, n := timeline.DecodeRune(text, 0)
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20 || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		case r == utf8.RuneError:
			b = utf8.AppendRune(b, utf8.RuneError)
		default:
			b = append(b, text[:n]...)
		}
		text = text[n:]
	}
	return append(b, '"')
}
