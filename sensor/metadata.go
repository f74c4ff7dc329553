package sensor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"meridian/clock"
	"meridian/sensor/ring"
	"meridian/sensor/tsdl"
)

// writeMetadata puts the metadata in place.
func (t *traceFile) writeMetadata(classes []ring.ClassInfo, declarations string) error {
	text := t.head() + withCategories(declarations, classes)
	// Readers ignore files whose names begin with a dot, and take any other for a stream. The new file stays if the program
	// dies here.
	path := filepath.Join(t.dir, ".metadata.new")
	err := os.WriteFile(path, []byte(text), 0o600)
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

// head returns the metadata up to the classes.
func (t *traceFile) head() string {
	var m tsdl.Metadata
	m.Comment("CTF 1.8")
	m.Blank()
	m.Integers()
	m.Blank()
	m.Trace(tsdl.Trace{UUID: tsdl.UUID(t.info.UUID), PacketHeader: tsdl.Struct(1, tsdl.PacketHeader()...)})
	m.Blank()
	t.environment(&m)
	m.Blank()
	c := t.clock()
	m.Clock(c)
	m.Blank()
	m.Stamp(c.Name)
	m.Blank()
	m.Comment("crc32c is of the events: the bytes behind the packet's context.")
	m.Stream(tsdl.Stream{
		PacketContext: tsdl.Struct(1, append(tsdl.PacketContext(),
			tsdl.Uint32.Named("_crc32c"), tsdl.String.Named("_row"), tsdl.String.Named("_row_kind"), tsdl.Int64.Named("_row_id"))...),
		EventHeader: tsdl.Struct(1, tsdl.EventHeader(tsdl.Uint16)...),
	})
	m.Blank()
	return m.String()
}

func (t *traceFile) environment(m *tsdl.Metadata) {
	env := []tsdl.Entry{tsdl.Text("tracer_name", "meridian"), tsdl.Text("domain", "ust")}
	for _, e := range [][2]string{{"hostname", t.host}, {"procname", t.info.Program}, {"title", t.title}} {
		if e[1] != "" {
			env = append(env, tsdl.Text(e[0], strings.ToValidUTF8(e[1], "\ufffd")))
		}
	}
	m.Env(append(env, tsdl.Number("vpid", int64(t.info.PID)))...)
}

// clock returns the clock of the stamps. A stamp is seconds + (offset + stamp) / hz, with the offset in cycles.
func (t *traceFile) clock() tsdl.Clock {
	hz, off := t.hz.Rounded()
	seconds := t.origin / 1e9
	ns := t.origin % 1e9
	if ns < 0 {
		seconds, ns = seconds-1, ns+1e9
	}
	name := strings.ToLower(clock.Source(t.info.Clock.Kind).String())
	return tsdl.Clock{
		Name: name, UUID: bootID(),
		Description: fmt.Sprintf("%s of the host; its frequency is known to %.3g ppm", name, float64(off)/1e6),
		Frequency:   uint64(hz), OffsetSeconds: seconds, Offset: clock.MulDiv(ns, int64(hz), 1e9, clock.Nearest), Absolute: true,
	}
}

// withCategories adds to the declarations of a ring the categories, where Meridian's own reader looks for them.
func withCategories(declarations string, classes []ring.ClassInfo) string {
	for _, c := range classes {
		if c.Category != "" {
			id := fmt.Sprintf("\tid = %d;\n", c.ID)
			declarations = strings.Replace(declarations, id, id+"\t"+tsdl.URI("meridian:category:"+c.Category)+";\n", 1)
		}
	}
	return declarations
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
