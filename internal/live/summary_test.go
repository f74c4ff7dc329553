package live

import (
	"strings"
	"testing"
)

// TestSummaryLeavesLossToTheErrorOfTheCommand: a loss is exit code 3, whose reason the command prints after the summary.
func TestSummaryLeavesLossToTheErrorOfTheCommand(t *testing.T) {
	o := &Outcome{Printed: 7, Lost: Loss{Discarded: 3}}
	o.Emitted = 7
	if line := o.Summary(); strings.Contains(line, "lost") || !strings.HasPrefix(line, "7 events") {
		t.Errorf("%q", line)
	}
}
