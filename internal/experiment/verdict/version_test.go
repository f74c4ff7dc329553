package verdict

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A report of a run as version 1 has it. It is not made again when the format changes.
const firstVersion = `{"format": 1, "name": "shop", "state": "ended", "verdict": "yes", "repeat": 1, "started": "2026-11-24T03:00:00Z", "meridian": "0.1.0", "command": ["meridian", "run", "shop.yaml"],
"checks": [{"name": "quick", "kind": "pair", "answer": "yes", "reason": "all 12 within 5 ms"}]}`

func TestAReportOfARunOfTheFirstVersionIsReadAndOthersAreRefused(t *testing.T) {
	for format, want := range map[string]string{`"format": 1`: "", `"format": 2`: "format 2, want 1", `"x": 1`: "format 0, want 1"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ReportName), []byte(strings.Replace(firstVersion, `"format": 1`, format, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Read(dir)
		switch {
		case want == "" && (err != nil || r.Name != "shop" || r.Verdict != Yes || len(r.Checks) != 1):
			t.Errorf("%s: %+v, %v", format, r, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", format, err, want)
		}
	}
}
