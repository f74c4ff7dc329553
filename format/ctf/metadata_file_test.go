package ctf

import (
	"os"
	"path/filepath"
	"testing"

	"meridian/trace"
)

// othersMetadata returns the metadata files of traces that other people recorded, if they are there.
func othersMetadata(t testing.TB) []string {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/traces/*/*metadata")
	if len(files) == 0 {
		t.Skip("other people's traces are not here")
	}
	return files
}

func TestOthersMetadataIsReadWithoutWarnings(t *testing.T) {
	for _, f := range othersMetadata(t) {
		t.Run(filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var w trace.Warnings
			m, err := ParseMetadata(data, f, &w)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range w.Lines() {
				t.Error(line)
			}
			n := 0
			for i := range m.Streams {
				n += len(m.Streams[i].Events)
			}
			t.Logf("%d streams, %d events, %d slots", len(m.Streams), n, m.Slots)
			if n == 0 {
				t.Error("no events")
			}
		})
	}
}
