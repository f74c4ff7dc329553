package tsdl_test

import (
	"math"
	"strings"
	"testing"

	"meridian/sensor/tsdl"
)

func TestTypesAreWrittenAsReadersKnowThem(t *testing.T) {
	for _, c := range []struct{ got, want tsdl.Type }{
		{tsdl.Integer{Size: 8, Align: 8}.Type(), "integer { size = 8; align = 8; signed = false; }"},
		{tsdl.Integer{Size: 5, Align: 1, Signed: true, Base: 10}.Type(), "integer { size = 5; align = 1; signed = true; }"},
		{tsdl.Integer{Size: 16, Align: 8, Base: 16, Encoding: "UTF8", ByteOrder: "be", Clock: "tsc"}.Type(),
			"integer { size = 16; align = 8; signed = false; base = 16; encoding = UTF8; byte_order = be; map = clock.tsc.value; }"},
		{tsdl.Float{Exponent: 11, Mantissa: 53, Align: 8}.Type(), "floating_point { exp_dig = 11; mant_dig = 53; align = 8; }"},
		{tsdl.Float{Exponent: 8, Mantissa: 24, Align: 1, ByteOrder: "le"}.Type(), "floating_point { exp_dig = 8; mant_dig = 24; align = 1; byte_order = le; }"},
		{tsdl.Enum(tsdl.Uint8, false, tsdl.Labels("no", `"yes"`)...), `enum : uint8 { "no" = 0, "\"yes\"" = 1 }`},
		{tsdl.Enum(tsdl.Int64, true, tsdl.Label{Name: "low", Low: math.MinInt64, High: -1}), `enum : int64 { "low" = -9223372036854775808 ... -1 }`},
		{tsdl.Enum(tsdl.Uint64, false, tsdl.Label{Name: "high", Low: 1, High: -1}), `enum : uint64 { "high" = 1 ... 18446744073709551615 }`},
		{tsdl.Struct(1, tsdl.Uint8.Named("_a"), tsdl.String.Named("_b")), "struct {\n\t\tuint8 _a;\n\t\tstring _b;\n\t}"},
		{tsdl.Struct(0), "struct {\n}"},
		{tsdl.Variant("_tag", 0, tsdl.Uint8.Named("_a[3]")).Aligned(32), "variant <_tag> {\n\tuint8 _a[3];\n} align(32)"},
		{tsdl.Inline(tsdl.Members(tsdl.Uint8.Named("_a"), tsdl.String.Named("_b"))), "struct {uint8 _a; string _b;}"},
		{tsdl.Inline(tsdl.Members()), "struct {}"},
	} {
		if c.got != c.want {
			t.Errorf("%s\nwant %s", c.got, c.want)
		}
	}
}

// babeltrace2 takes the cycles of an offset without a sign alone.
func TestAnOffsetBeforeTheOriginHasPositiveCycles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hz              uint64
		seconds, cycles int64
		want            string
	}{
		{1e9, 10, 5, "offset_s = 10;\n\toffset = 5;"},
		{1e9, 10, -5, "offset_s = 9;\n\toffset = 999999995;"},
		{1e9, 10, -2e9, "offset_s = 8;\n\toffset = 0;"},
		{1_000_012_000, 1795476993, -23525412542033, "offset_s = 1795453467;\n\toffset = 869769967;"},
		{1e9, 0, math.MinInt64, "offset_s = -9223372037;\n\toffset = 145224192;"},
	} {
		var m tsdl.Metadata
		m.Clock(tsdl.Clock{Name: "c", Frequency: c.hz, OffsetSeconds: c.seconds, Offset: c.cycles})
		if text := m.String(); !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

func TestTextsAreQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `""`,
		`a "b" \c`:               `"a \"b\" \\c"`,
		"\n\t\r":                 `"\n\t\r"`,
		"\x01\x1f\x7f\x00":       `"\001\037\177␀"`,
		"Grüße, 世界 \xff(broken)": "\"Grüße, 世界 \xff(broken)\"",
	} {
		if got := tsdl.Quote(text); got != want {
			t.Errorf("%q is quoted %s, want %s", text, got, want)
		}
	}
}

func TestNamesAreIdentifiersAndDiffer(t *testing.T) {
	taken := tsdl.Names{}
	for _, c := range [][2]string{{"id", "_id"}, {"id", "_id_2"}, {"id", "_id_3"}, {"id_2", "_id_2_2"}, {"", "_field"}, {"a b-ç", "_a_b__"},
		{"a.b c ", "_a_b_c_"}, {"9", "_9"}, {"struct", "_struct"}, {"Bool", "_Bool_"}, {"_Bool", "__Bool"}} {
		if got := tsdl.FieldName(c[0], taken); got != c[1] {
			t.Errorf("field %q is named %s, want %s", c[0], got, c[1])
		}
	}
	taken = tsdl.Names{}
	for _, c := range [][2]string{{"hostname", "hostname"}, {"hostname", "hostname_2"}, {"", "entry"}, {"9p", "entry_9p"}, {"struct", "entry_struct"},
		{"_Bool", "entry__Bool"}, {"Bool", "Bool"}, {"a-b", "a_b"}} {
		if got := tsdl.PlainName(c[0], "entry", taken); got != c[1] {
			t.Errorf("entry %q is named %s, want %s", c[0], got, c[1])
		}
	}
}

func TestWhatIsEmptyIsLeftOut(t *testing.T) {
	var m tsdl.Metadata
	m.Trace(tsdl.Trace{BigEndian: true})
	m.Env()
	m.Clock(tsdl.Clock{Name: "c", Frequency: 1, Precision: 5})
	m.Stream(tsdl.Stream{ID: 3})
	m.Event(tsdl.Event{Name: "e", HasLevel: true, LogLevel: -1, URI: "u"})
	want := "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = be;\n};\n" +
		"clock {\n\tname = c;\n\tfreq = 1;\n\tprecision = 5;\n\toffset_s = 0;\n\toffset = 0;\n};\n" +
		"stream {\n\tid = 3;\n};\n" +
		"event {\n\tname = \"e\";\n\tid = 0;\n\tstream_id = 0;\n\tloglevel = -1;\n\tmodel.emf.uri = \"u\";\n};\n"
	if m.String() != want || string(m.Bytes()) != want {
		t.Errorf("%s\nwant\n%s", m.String(), want)
	}
}
