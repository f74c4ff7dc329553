package sensor

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"meridian/clock"
	"meridian/sensor/ring"
)

// writeMetadata puts the metadata in place.
func (t *traceFile) writeMetadata(classes []ring.ClassInfo, declarations string) error {
	text := t.head() + withCategories(declarations, classes)
	// Readers take files whose names begin with a dot for none of the trace's, any other for a stream. One is left where the
	// program dies here.
	path := filepath.Join(t.dir, ".metadata.new")
	err := os.WriteFile(path, []byte(text), 0o666)
	if err == nil {
		err = os.Rename(path, filepath.Join(t.dir, "metadata"))
	}
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("sensor: %w", err)
	}
	t.classes = len(classes)
	return nil
}

// head is all of the metadata but the classes.
func (t *traceFile) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, `/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8;
typealias integer { size = 16; align = 8; signed = false; } := uint16;
typealias integer { size = 32; align = 8; signed = false; } := uint32;
typealias integer { size = 64; align = 8; signed = false; } := uint64;
typealias integer { size = 64; align = 8; signed = true; } := int64;

trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = le;
	packet.header := struct {
		uint32 magic;
		uint8 uuid[16];
		uint32 stream_id;
		uint64 stream_instance_id;
	};
};

`, uuidText(t.info.UUID))
	b.WriteString("env {\n\ttracer_name = \"meridian\";\n\tdomain = \"ust\";\n")
	for _, e := range [][2]string{{"hostname", t.host}, {"procname", t.info.Program}, {"title", t.title}} {
		if e[1] != "" {
			fmt.Fprintf(&b, "\t%s = %s;\n", e[0], quoted(e[1]))
		}
	}
	fmt.Fprintf(&b, "\tvpid = %d;\n};\n\n", t.info.PID)

	// A stamp is seconds + (offset + stamp) / hz, with the offset in cycles.
	hz, off := t.hz.Rounded()
	seconds := t.origin / 1e9
	ns := t.origin % 1e9
	if ns < 0 {
		seconds, ns = seconds-1, ns+1e9
	}
	offset := clock.MulDiv(ns, int64(hz), 1e9, clock.Nearest)
	name := strings.ToLower(clock.Source(t.info.Clock.Kind).String())
	fmt.Fprintf(&b, "clock {\n\tname = %s;\n", name)
	if boot := bootID(); boot != "" {
		fmt.Fprintf(&b, "\tuuid = %s;\n", quoted(boot))
	}
	fmt.Fprintf(&b, "\tdescription = \"%s of the host; its frequency is known to %.3g ppm\";\n", name, float64(off)/1e6)
	fmt.Fprintf(&b, "\tfreq = %d;\n\toffset_s = %d;\n\toffset = %d;\n\tabsolute = true;\n};\n\n", hz, seconds, offset)
	fmt.Fprintf(&b, `typealias integer { size = 64; align = 8; signed = false; map = clock.%s.value; } := stamp;

/* crc32c is of the events: the bytes behind the packet's context. */
stream {
	id = 0;
	packet.context := struct {
		stamp timestamp_begin;
		stamp timestamp_end;
		uint64 content_size;
		uint64 packet_size;
		uint64 packet_seq_num;
		uint64 events_discarded;
		uint32 _crc32c;
		string _row;
		string _row_kind;
		int64 _row_id;
	};
	event.header := struct {
		stamp timestamp;
		uint16 id;
	};
};

`, name)
	return b.String()
}

// withCategories adds to the declarations of a ring the categories, where Meridian's own reader looks for them.
func withCategories(declarations string, classes []ring.ClassInfo) string {
	for _, c := range classes {
		if c.Category != "" {
			id := fmt.Sprintf("\tid = %d;\n", c.ID)
			declarations = strings.Replace(declarations, id, id+"\tmodel.emf.uri = "+quoted("meridian:category:"+c.Category)+";\n", 1)
		}
	}
	return declarations
}

// quoted returns a string of TSDL.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			b.WriteByte('.')
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func uuidText(u [16]byte) string {
	x := hex.EncodeToString(u[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// bootID names the counter: the same for all programs since the machine was started.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(text)); err == nil && len(id) == 36 {
		return id
	}
	return ""
}

// calibrate takes the frequency anew, from a reading long after the first one, if it is then known better.
func (t *traceFile) calibrate(first, last clock.Snapshot) {
	f, err := clock.Between(first.Monotonic, last.Monotonic)
	if err != nil || f.Error() >= t.hz.Error() {
		return
	}
	hz, _ := f.Rounded()
	t.hz, t.origin = f, first.Realtime.Origin(hz)
}
