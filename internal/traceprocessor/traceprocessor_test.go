package traceprocessor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryKindOfCellIsAnswered(t *testing.T) {
	path := write(t, `{"traceEvents":[{"ph":"B","name":"täst","pid":1,"tid":1,"ts":1.001},{"ph":"E","pid":1,"tid":1,"ts":5.5}]}`)
	answers := Query(t, path,
		`SELECT ts, dur, name FROM slice`,
		`SELECT 9223372036854775807, -1, 0.25, NULL, 'a|b', x'c0ff'`,
		`SELECT 1 WHERE 0`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT i, 'x' || i FROM n`)
	if got := answers[0].String(); got != "1001|4499|täst\n" {
		t.Errorf("slice: %q", got)
	}
	if got := answers[1].String(); got != "9223372036854775807|-1|0.25|NULL|a|b|c0ff\n" {
		t.Errorf("kinds: %q", got)
	}
	if len(answers[2].Rows) != 0 {
		t.Errorf("rows of nothing: %v", answers[2])
	}
	rows := answers[3].Rows
	if len(rows) != 100000 || strings.Join(rows[99999], " ") != "100000 x100000" {
		t.Errorf("%d rows in many batches", len(rows))
	}
}

func TestAnswersThatDoNotFitAreErrors(t *testing.T) {
	for _, out := range []string{``, `[]`, `[{"error":"no such table"}]`, `[{},{}]`} {
		if _, err := parse([]byte(out), []string{"SELECT 1"}); err == nil {
			t.Errorf("%s: no error", out)
		}
	}
}
