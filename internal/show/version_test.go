package show

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata/versions has a report of version 1, made by
//
//	meridian simulate -o n --hosts 2 --duration 1s --seed 1
//	meridian align n/messages.txt -o version1.report.json
//
// It is not made again when the format changes.
func TestAReportOfTheFirstVersionIsReadAndANewerOneIsRefused(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "versions", "version1.report.json"))
	if err != nil {
		t.Fatal(err)
	}
	const first = `"version": 1,`
	for version, want := range map[string]string{
		first:           "",
		"":              "", // from before there were versions
		`"version": 2,`: "version 2 of the format; this program reads version 1",
		`"version":-1,`: "version -1 of the format",
	} {
		r, err := ReadReport(bytes.NewReader(bytes.Replace(b, []byte(first), []byte(version), 1)))
		switch {
		case want == "" && (err != nil || len(r.Hosts) != 2 || r.Pairs[0].Fit != "exact" || r.Quality.Messages == 0):
			t.Errorf("%q: %+v, %v", version, r, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", version, err, want)
		}
	}
}
