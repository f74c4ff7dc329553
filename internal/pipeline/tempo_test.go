package pipeline

import (
	"path/filepath"
	"testing"

	"meridian/internal/pipeline/input"
)

// Sixty calls from a to b, whose clock is 2.3 ms ahead, as Grafana Tempo's two APIs return them.
func TestTempoTracesAlign(t *testing.T) {
	for _, name := range []string{"tempo_batches.json", "tempo_trace_wrapped.json"} {
		inputs, err := input.Parse([]string{filepath.Join("testdata", "cases", "tempo", name)})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		o.Align.Reference = "a"
		rows, outcome := csvRows(t, inputs, o)
		if len(outcome.Broken)+len(outcome.Warnings) > 0 {
			t.Errorf("%s: broken %q, warnings %q", name, outcome.Broken, outcome.Warnings)
		}
		if n := outcome.Report.Quality.Messages; n != 120 {
			t.Errorf("%s: %d messages", name, n)
		}
		events := 0
		for _, row := range rows {
			if row["host"] != "b" {
				continue
			}
			events++
			truth := number(t, row["recorded_ns"]) - 2_300_000
			if truth < number(t, row["low_ns"]) || truth > number(t, row["high_ns"]) {
				t.Errorf("%s: %v lies outside of its bounds", name, row)
			}
		}
		if events == 0 {
			t.Errorf("%s: no events of b", name)
		}
	}
}
