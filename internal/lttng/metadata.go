package lttng

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"meridian/sensor/tsdl"
)

// class is a type of event: its name and the declarations of its fields.
type class struct {
	name, fields string
}

// integer declares a field as LTTng prints it: alignment to the byte, which is what it has on machines that read
// integers from anywhere.
func integer(name string, bits int, more ...string) string {
	signed, base, order, encoding := 0, 10, "", "none"
	for _, m := range more {
		switch m {
		case "signed":
			signed = 1
		case "hex":
			base = 16
		case "network":
			order = " byte_order = be;"
		case "text":
			encoding, signed = "UTF8", 1
		}
	}
	align := alignment(bits)
	if bits == 4 {
		align = 4
	}
	return fmt.Sprintf("integer { size = %d; align = %d; signed = %d; encoding = %s; base = %d;%s } _%s;\n", bits, align, signed, encoding, base, order, name)
}

// alignment is that of an integer: to the byte, or to the bit for a bit field.
func alignment(bits int) int {
	if bits%8 != 0 {
		return 1
	}
	return 8
}

// network declares fields of a header, all of one width.
func network(bits int, names string) string {
	text := ""
	for _, name := range strings.Fields(names) {
		text += integer(name, bits, "network")
	}
	return text
}

// variant declares an enumeration and the variant that it selects.
func variant(name string, options ...[2]string) string {
	labels, parts := "", ""
	for i, o := range options {
		labels += fmt.Sprintf("%q = %d, ", "_"+o[0], i)
		parts += fmt.Sprintf("struct {\n%s} _%s;\n", o[1], o[0])
	}
	return fmt.Sprintf("enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } { %s } _%s_type;\nvariant <_%s_type> {\n%s} _%s;\n",
		labels, name, name, parts, name)
}

// comm declares a thread's name.
func comm(name string) string { return integer(name+"[16]", 8, "text") }

// Types that LTTng names.
const (
	uint8Type  tsdl.Type = "uint8_t"
	uint32Type tsdl.Type = "uint32_t"
	uint64Type tsdl.Type = "uint64_t"
	ulongType  tsdl.Type = "unsigned long"
	stamp64    tsdl.Type = "uint64_clock_monotonic_t"
)

// text returns the metadata of a domain. The clock and the header of events are laid out as LTTng does it: a parser must
// cope with its comments, quotes and named structures.
func (d *domain) text(o *Options, boot int64) string {
	var m tsdl.Metadata
	m.Comment("CTF 1.8")
	m.Blank()
	unsigned := func(bits int) tsdl.Type { return tsdl.Integer{Size: bits, Align: alignment(bits)}.Type() }
	for _, bits := range []int{8, 16, 32, 64} {
		m.Alias(fmt.Sprintf("uint%d_t", bits), unsigned(bits))
	}
	m.Alias(string(ulongType), unsigned(64))
	m.Alias("uint5_t", unsigned(5))
	m.Alias("uint27_t", unsigned(27))
	m.Blank()
	m.Trace(tsdl.Trace{UUID: tsdl.UUID(d.uuid(o)), PacketHeader: tsdl.Struct(1, uint32Type.Named("magic"), uint8Type.Named("uuid[16]"),
		uint32Type.Named("stream_id"), uint64Type.Named("stream_instance_id"))})
	m.Blank()
	d.environment(&m, o)
	m.Blank()
	m.Add(fmt.Sprintf(`clock {
	name = "monotonic";
	uuid = "%s";
	description = "Monotonic Clock";
	freq = 1000000000; /* Frequency, in Hz */
	/* clock value offset from Epoch is: offset * (1/freq) */
	offset = %d;
};

`, tsdl.UUID(digest("clock", o.Host)), boot))
	for _, bits := range []int{27, 32, 64} {
		m.Alias(fmt.Sprintf("uint%d_clock_monotonic_t", bits), tsdl.Integer{Size: bits, Align: alignment(bits), Clock: "monotonic"}.Type())
	}
	m.Blank()
	context := []tsdl.Field{stamp64.Named("timestamp_begin"), stamp64.Named("timestamp_end"), uint64Type.Named("content_size"), uint64Type.Named("packet_size")}
	if d.numbered(o) {
		context = append(context, uint64Type.Named("packet_seq_num"))
	}
	context = append(context, ulongType.Named("events_discarded"), uint32Type.Named("cpu_id"))
	m.Add("struct packet_context " + strings.TrimPrefix(string(tsdl.Struct(0, context...)), "struct ") + ";\n")
	m.Add(`
struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct {
			uint27_clock_monotonic_t timestamp;
		} compact;
		struct {
			uint32_t id;
			uint64_clock_monotonic_t timestamp;
		} extended;
	} v;
} align(8);

`)
	stream := tsdl.Stream{PacketContext: "struct packet_context", EventHeader: "struct event_header_compact"}
	if context := d.context(o); context != "" {
		stream.EventContext = tsdl.Inline("\n" + context)
	}
	m.Stream(stream)
	for id, c := range d.classes {
		m.Blank()
		m.Event(tsdl.Event{Name: c.name, ID: uint64(id), Fields: tsdl.Inline("\n" + c.fields)})
	}
	return m.String()
}

// environment declares the host, its kernel and the tracer, whose version goes by the style.
func (d *domain) environment(m *tsdl.Metadata, o *Options) {
	minor := [...]int64{Nested: 13, Separate: 8, Extended: 0, Unaddressed: 4}[o.Style]
	tracer, kind := "lttng-modules", "kernel"
	if d.user {
		tracer, kind = "lttng-ust", "ust"
	}
	m.Env(tsdl.Text("hostname", o.Host), tsdl.Text("domain", kind), tsdl.Text("sysname", "Linux"), tsdl.Text("kernel_release", "6.1.0-amd64"),
		tsdl.Text("kernel_version", "#1 SMP PREEMPT_DYNAMIC"), tsdl.Text("tracer_name", tracer), tsdl.Number("tracer_major", 2),
		tsdl.Number("tracer_minor", minor), tsdl.Number("tracer_patchlevel", 0))
}

// numbered reports whether packets have sequence numbers, as those of later versions do.
func (d *domain) numbered(o *Options) bool { return d.user || o.Style <= Separate }

// context declares what the tracer adds to every event.
func (d *domain) context(o *Options) string {
	switch {
	case d.user:
		return integer("vpid", 32, "signed") + integer("vtid", 32, "signed") + comm("procname")
	case o.Style == Unaddressed:
		return integer("tid", 32, "signed") + comm("procname")
	}
	return ""
}

func (d *domain) uuid(o *Options) [16]byte {
	return digest("trace", o.Host, o.Style.String(), fmt.Sprint(d.user))
}

func digest(parts ...string) [16]byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return [16]byte(sum[:16])
}

// inPackets divides metadata into packets, as LTTng's consumer writes it (CTF 1.8.3, 7.1).
func inPackets(text string, uuid [16]byte) []byte {
	const size, head = 4096, 37
	var out bytes.Buffer
	for len(text) > 0 {
		n := min(len(text), size-head)
		p := make([]byte, size)
		binary.LittleEndian.PutUint32(p, 0x75d11d57)
		copy(p[4:], uuid[:])
		binary.LittleEndian.PutUint32(p[24:], uint32(head+n)*8)
		binary.LittleEndian.PutUint32(p[28:], size*8)
		p[35], p[36] = 1, 8
		copy(p[head:], text[:n])
		out.Write(p)
		text = text[n:]
	}
	return out.Bytes()
}
