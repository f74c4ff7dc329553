package steps

import (
	"context"
	"math"
	"testing"

	"meridian/trace"
)

func TestFindRefusesWhatIsNotOfTheProblem(t *testing.T) {
	p := &trace.Problem{Clocks: make([]trace.Clock, 2)}
	for name, c := range map[string]struct {
		p         *trace.Problem
		pairs     []Pair
		epsilon   float64
		reference int
		wrong     bool
	}{
		"valid":             {p: p, pairs: []Pair{{A: 0, B: 1}}, reference: -1},
		"no problem":        {wrong: true},
		"unknown clock":     {p: p, pairs: []Pair{{A: 0, B: 2}}, wrong: true},
		"negative clock":    {p: p, pairs: []Pair{{A: -1, B: 1}}, wrong: true},
		"descending":        {p: p, pairs: []Pair{{A: 1, B: 0}}, wrong: true},
		"epsilon no number": {p: p, epsilon: math.NaN(), wrong: true},
		"negative epsilon":  {p: p, epsilon: -1, wrong: true},
		"unknown reference": {p: p, reference: 2, wrong: true},
		"unknown receiver":  {p: &trace.Problem{Clocks: p.Clocks, Channels: []trace.Channel{{To: 2}}}, wrong: true},
	} {
		if _, err := Find(context.Background(), c.p, c.pairs, c.epsilon, c.reference); (err != nil) != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
