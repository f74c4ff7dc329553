package ctf

import (
	"testing"

	"meridian/internal/corpus"
	"meridian/trace"
)

// babeltrace2 2.0.4 does not read CTF 2: what these say must be plausible by itself.
func TestTracesOfOthersInCTF2AreRead(t *testing.T) {
	for _, test := range []struct {
		name        string
		events      int
		first, last string
	}{
		{"CTF2-7.0-debug-info", 4,
			`[14:09:41.350889232] (+?.?????????) raton lttng_ust_statedump:bin_info: { cpu_id = 0 }, { vpid = 9746, ip = 0x7F09B7D2922B }, ` +
				`{ baddr = 0x7FFCBD1E1000, memsz = 0, path = "[linux-vdso.so.1]", is_pic = 0, has_build_id = 0, has_debug_link = 0 }`,
			`[14:09:41.351883341] (+0.000071146) raton my_provider:my_first_tracepoint: { cpu_id = 0 }, { vpid = 9746, ip = 0x7F09B7F9A448 }, ` +
				`{ my_string_field = "recoltes et semailles", my_integer_field = 57 }`},
		{"CTF2-7.0-succeed1", 7809, `string: { str = "akonadi" }`, ""},
		{"CTF2-7.0-trace-with-index", 4000,
			`[19:30:56.853953396] (+?.?????????) joraj-alpa sample_component:message: { cpu_id = 1 }, { message = "Hello World" }`, ""},
		{"CTF2-vl-ints", 1, `test: { vu1a = 0, vu1b = 77, vu2 = 177, vu3 = 43123, vu4 = 21829382, vu5 = 5121829382, vu6 = 95121829382, ` +
			`vu7 = 13895121829382, vu8 = 913895121855555, vu9 = 333333333333333333, vu10 = 18446744073709551615, vi1a = 0, vi1b = -1, ` +
			`vi1c = 23, vi2 = -156, vi3 = 8556, vi4 = -100101001, vi5 = 8288491823, vi6 = -171717171717, vi7 = 123456787654321, ` +
			`vi8 = -1121231234123450, vi9 = 99999999999999999, vi10a = 9223372036853775807, vi10b = 9223372036854775807, ` +
			`vi10c = -9223372036854775808 }`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w trace.Warnings
			got := textOf(t, corpus.Trace(t, test.name), &w)
			if l := w.Lines(); len(l) > 0 && test.name != "CTF2-7.0-succeed1" && test.name != "CTF2-vl-ints" { // those have no clock
				t.Error(l)
			}
			if len(got) != test.events {
				t.Fatalf("%d events, want %d", len(got), test.events)
			}
			if got[0] != test.first {
				t.Errorf("got %s", got[0])
			}
			if last := got[len(got)-1]; test.last != "" && last != test.last {
				t.Errorf("got %s", last)
			}
		})
	}
}
