package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"meridian/clock"
)

func someCost() *Cost {
	return &Cost{
		Machine:     clock.Machine{Processor: "Abacus\x1b[2J 9", Processors: 2, Architecture: "amd64", System: "linux", Kernel: "6.1", Go: "go1.26"},
		Sensors:     clock.Choice{Source: clock.TSC, Invariant: true, Why: "it is good"},
		Meter:       clock.TSC,
		Frequencies: []clock.Frequency{{Hz: 2.5e9, Low: 2.5e9 - 250, High: 2.5e9 + 250, Reference: clock.Monotonic, Over: 2 * time.Second}},
		Calls: []clock.Call{
			{Name: "Cycles", Way: "instruction", Clock: clock.TSC, Stamps: true, StepNs: 10.4,
				Warm: clock.Spread{Samples: 9, Ns: clock.Quantiles{Min: 9.96, Median: 10, P99: 99.94}, Cycles: &clock.Quantiles{Median: 25}},
				Cold: clock.Spread{Samples: 9, Ns: clock.Quantiles{Min: 40, Median: 312.6, P99: 1234}, Cycles: &clock.Quantiles{Median: 1000.4}}},
			{Name: "getppid", Way: "system call", Warm: clock.Spread{Ns: clock.Quantiles{Min: 1, Median: 2, P99: 3}}},
		},
	}
}

func TestTableOfCostsSaysWhatTheMachineIsWhatSensorsUseAndWhatEachCallTakes(t *testing.T) {
	var out strings.Builder
	if err := someCost().Table(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"Abacus\uFFFD[2J 9, 2 processors, amd64, linux 6.1, go1.26",
		"sensors stamp with TSC (*): it is good",
		"invariant TSC: 2500.000000 MHz ± 0.1 ppm by MONOTONIC over 2.000 s; to 0.001 ppm it takes 200.0 s",
		"",
		"call by clock min median p99 cycles cold min median p99 cycles step",
		"Cycles * instruction TSC 10.0 ns 10.0 ns 99.9 ns 25 40.0 ns 313 ns 1.234 µs 1 000 10.4 ns",
		"getppid system call - 1.0 ns 2.0 ns 3.0 ns - 0.0 ns 0.0 ns 0.0 ns -",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d\n got %s\nwant %s", i, got, want)
		}
	}
}

func TestCostsAsJSONNameTheSources(t *testing.T) {
	var out strings.Builder
	if err := someCost().Write(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Sensors     struct{ Source, Why string }
		Frequencies []struct {
			Reference string
			OverNs    int64 `json:"over_ns"`
		}
		Calls []struct {
			Clock string
			Warm  struct{ Cycles *struct{ Median float64 } }
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Sensors.Source != "TSC" || got.Frequencies[0].Reference != "MONOTONIC" || got.Frequencies[0].OverNs != 2e9 ||
		got.Calls[0].Warm.Cycles.Median != 25 || got.Calls[1].Clock != "none" || got.Calls[1].Warm.Cycles != nil {
		t.Errorf("%s", &out)
	}
}
