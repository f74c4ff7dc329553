package pipeline_test

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
)

// countingTSDL describes packets of one event that count what was discarded.
const countingTSDL = `/* CTF 1.8 */
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = "monotonic"; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := stamp;
stream { id = 0;
	packet.context := struct { u64 content_size; u64 packet_size; u64 packet_seq_num; u64 events_discarded; };
	event.header := struct { u32 id; stamp timestamp; }; };
event { name = "p:e"; id = 0; stream_id = 0; fields := struct { u64 n; }; };
`

// countingTrace writes a trace whose packets have these numbers and counters of discarded events.
func countingTrace(t *testing.T, packets ...[2]uint64) string {
	t.Helper()
	dir := t.TempDir()
	var b []byte
	le := binary.LittleEndian
	for i, p := range packets {
		const bits = 8 * (8 + 4*8 + 4 + 8 + 8)
		b = le.AppendUint32(le.AppendUint32(b, 0xc1fc1fc1), 0)
		for _, v := range []uint64{bits, bits, p[0], p[1]} {
			b = le.AppendUint64(b, v)
		}
		b = le.AppendUint64(le.AppendUint64(le.AppendUint32(b, 0), uint64(i)), 0)
	}
	for name, data := range map[string][]byte{"metadata": []byte(countingTSDL), "channel0_0": b} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatRecordersLostIsToldByHost(t *testing.T) {
	t.Parallel()
	inputs, err := input.Parse([]string{
		"a=" + countingTrace(t, [2]uint64{0, 3}, [2]uint64{1, 10}), "a=" + countingTrace(t, [2]uint64{0, 2}),
		"b=" + countingTrace(t, [2]uint64{0, 0}, [2]uint64{3, 0}), "c=" + countingTrace(t, [2]uint64{0, 0}, [2]uint64{1, 0}),
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := pipeline.Run(t.Context(), inputs, pipeline.Options{Outputs: []string{filepath.Join(t.TempDir(), "x.csv")}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (map[string]input.Lost{"a": {Events: 12}, "b": {Packets: 2}}); !maps.Equal(out.Lost, want) {
		t.Errorf("%+v, want %+v", out.Lost, want)
	}
}
