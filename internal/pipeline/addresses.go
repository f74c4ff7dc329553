package pipeline

import (
	"net/netip"

	"meridian/internal/pipeline/input"
	"meridian/trace"
)

// warnOfUnseen names the addresses given of hosts that nothing has.
func warnOfUnseen(given map[string][]netip.Addr, set *input.Set, w *trace.Warnings) {
	unseen := input.NewUnseen(given)
	for _, c := range set.Captures {
		unseen.SeeFlows(c)
	}
	for _, r := range set.Recordings {
		for _, addresses := range r.Addresses {
			for _, a := range addresses {
				unseen.See(a)
			}
		}
	}
	unseen.Warn(w)
}
