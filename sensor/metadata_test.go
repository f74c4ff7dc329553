package sensor

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"meridian/clock"
	"meridian/sensor/ring"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMetadataIsAsItWas compares the metadata of a trace with one event of every kind of field with a golden file, which the
// readers of test packages, babeltrace2 and Trace Compass have read.
func TestMetadataIsAsItWas(t *testing.T) {
	r, err := ring.Create(ring.Options{Dir: t.TempDir(), Program: "golden"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Remove()
	defer r.Close()
	var all []member
	for k := reflect.Bool; k <= reflect.Float64; k++ {
		if k != reflect.Int && k != reflect.Uint && k != reflect.Uintptr {
			all = append(all, member{k.String(), k})
		}
	}
	all = append(all, member{"text", reflect.String}, member{"bytes", reflect.Slice}, member{"a b-ç", reflect.Int8}, member{"a b-ç", reflect.Int8}, member{"", reflect.Int8})
	for _, c := range []ring.Class{
		{Name: "all", Category: "golden", Fields: declaration(all)},
		{Name: "none"},
		{Name: "slice:begin", Category: "golden", Context: declaration(sliceContext)},
		{Name: "mark", Context: declaration([]member{flowMember, roleMember})},
		{Name: "histogram:counter", Category: "ü", Fields: declaration(bucketMembers)},
	} {
		if _, err := r.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := ring.Open(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for name, f := range map[string]*traceFile{
		"counter": {host: `a "host" \`, title: "Grüße", hz: clock.Frequency{Hz: 2449999333.4, Low: 2449999300, High: 2449999400}, origin: 1760000000123456789,
			info: ring.Info{Program: "golden", PID: 4711, UUID: [16]byte{0: 1, 6: 0x40, 15: 0xff}, Clock: ring.Clock{Kind: uint32(clock.TSC)}}},
		"monotonic": {hz: clock.Frequency{Hz: 1e9, Low: 1e9, High: 1e9}, origin: -1, info: ring.Info{Clock: ring.Clock{Kind: uint32(clock.Monotonic)}}},
	} {
		f.dir = t.TempDir()
		if err := f.writeMetadata(reader.Classes(), reader.Metadata()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(f.dir, "metadata"))
		if err != nil {
			t.Fatal(err)
		}
		// Which machine this is differs.
		got = regexp.MustCompile("\tuuid = \"[0-9a-f-]{36}\";\n\tdescription").ReplaceAll(got, []byte("\tdescription"))
		golden := filepath.Join("testdata", name+".metadata")
		if *update {
			if err := os.WriteFile(golden, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from the golden file:\n%s", name, got)
		}
	}
}
