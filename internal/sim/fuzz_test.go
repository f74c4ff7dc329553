package sim_test

import (
	"bytes"
	"testing"

	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testseed"
)

func FuzzReadTruth(f *testing.F) {
	s := sim.Environments()[2].Scenario
	s.Span = 5e9
	_, truth, err := s.Generate()
	if err != nil {
		f.Fatal(err)
	}
	var out bytes.Buffer
	if err := truth.Write(&out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte(`{"hosts":[{"name":"a","clock":[[0,0],[1,1]]}]}`))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		truth, err := sim.ReadTruth(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, h := range truth.Hosts { // what was let in can be used
			if err := h.Clock.Check(); err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
			h.Clock.At(1<<40, clock.Nearest)
			h.Clock.Inverse()
			for _, o := range truth.Hosts {
				truth.Asymmetry(h.Name, o.Name)
			}
		}
		var again bytes.Buffer
		if err := truth.Write(&again); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
