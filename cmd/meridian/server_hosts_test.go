package main

import (
	"testing"

	"meridian/internal/collect/wire"
)

func TestTheClockColumnCountsPairs(t *testing.T) {
	pair := func(to string, width int64, silent bool) wire.ProbePair {
		return wire.ProbePair{Host: to, WidthNs: width, Silent: silent}
	}
	for want, pairs := range map[string][]wire.ProbePair{
		"no bound":               nil,
		"no bound, 1 silent":     {pair("db", 0, true)},
		"±2µs, 1 pair":           {pair("db", 4000, false)},
		"±1.5µs, 2 pairs":        {pair("db", 4000, false), pair("mail", 3000, false)},
		"±2µs, 1 pair, 1 silent": {pair("db", 4000, false), pair("mail", 0, true)},
	} {
		hosts := map[string]wire.AgentStatus{"web": {Session: "s", Probing: &wire.Probing{Pairs: pairs}}}
		if got := clockOf("web", hosts); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
