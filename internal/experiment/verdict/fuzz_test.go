package verdict

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/testseed"
)

// FuzzRead reads reports of other versions, and results of daemons that users wrote.
//
//fuzzall:own
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"format":1,"verdict":"yes","checks":[{"answer":"undecided"}]}`), "a")
	f.Add([]byte(`{"format":2}`), "")
	f.Add([]byte(`{"a":{"b":"7.5"}}`), "a.b")
	f.Add([]byte(`[1]`), "a")
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, data []byte, field string) {
		if err := os.WriteFile(filepath.Join(dir, ReportName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Read(dir); (r == nil) != (err != nil) || r != nil && r.Format != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if x, err := number(data, field); err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			t.Errorf("%q of %q is %v", field, data, x)
		}
	})
}
