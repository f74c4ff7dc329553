package lttng

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
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
	align := 8
	if bits%8 != 0 { // a bit field
		align = 1
		if bits == 4 {
			align = 4
		}
	}
	return fmt.Sprintf("integer { size = %d; align = %d; signed = %d; encoding = %s; base = %d;%s } _%s;\n", bits, align, signed, encoding, base, order, name)
}

// network declares fields of a header, all of one width.
func network(bits int, names string) string {
	text := ""
	for _, name := range strings.Fields(names) {
		text += integer(name, bits, "network")
	}
	return text
}

// choice declares an enumeration and the variant that it selects.
func choice(name string, options ...[2]string) string {
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

// text returns the metadata of a domain.
func (d *domain) text(o *Options, boot int64) string {
	var b strings.Builder
	version := [...]int{Nested: 13, Beside: 8, Extended: 0, Unaddressed: 4}[o.Style]
	tracer, kind := "lttng-modules", "kernel"
	if d.user {
		tracer, kind = "lttng-ust", "ust"
	}
	fmt.Fprintf(&b, `/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
typealias integer { size = 27; align = 1; signed = false; } := uint27_t;

trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};

env {
	hostname = "%s";
	domain = "%s";
	sysname = "Linux";
	kernel_release = "6.1.0-amd64";
	kernel_version = "#1 SMP PREEMPT_DYNAMIC";
	tracer_name = "%s";
	tracer_major = 2;
	tracer_minor = %d;
	tracer_patchlevel = 0;
};

clock {
	name = "monotonic";
	uuid = "%s";
	description = "Monotonic Clock";
	freq = 1000000000; /* Frequency, in Hz */
	/* clock value offset from Epoch is: offset * (1/freq) */
	offset = %d;
};

`, uuidText(d.uuid(o)), o.Host, kind, tracer, version, uuidText(digest("clock", o.Host)), boot)
	for _, bits := range []int{27, 32, 64} {
		align := 8
		if bits == 27 {
			align = 1
		}
		fmt.Fprintf(&b, "typealias integer {\n\tsize = %d; align = %d; signed = false;\n\tmap = clock.monotonic.value;\n} := uint%d_clock_monotonic_t;\n\n", bits, align, bits)
	}
	sequence := "\tuint64_t packet_seq_num;\n"
	if !d.numbered(o) {
		sequence = ""
	}
	fmt.Fprintf(&b, `struct packet_context {
	uint64_clock_monotonic_t timestamp_begin;
	uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
%s	unsigned long events_discarded;
	uint32_t cpu_id;
};

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

stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
`, sequence)
	if context := d.context(o); context != "" {
		fmt.Fprintf(&b, "\tevent.context := struct {\n%s\t};\n", context)
	}
	b.WriteString("};\n\n")
	for id, c := range d.classes {
		fmt.Fprintf(&b, "event {\n\tname = %q;\n\tid = %d;\n\tstream_id = 0;\n\tfields := struct {\n%s\t};\n};\n\n", c.name, id, c.fields)
	}
	return b.String()
}

// numbered says whether packets have sequence numbers: later versions' have.
func (d *domain) numbered(o *Options) bool { return d.user || o.Style <= Beside }

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

func uuidText(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
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
