package daemons

import (
	"context"
	"fmt"
	"time"

	"meridian/internal/experiment/protocol"
)

// pause does nothing for a time: the network is left to the others.
var pause = &standard{
	spec: protocol.Spec{Name: "pause", Doc: "does nothing for a time", Phases: []protocol.PhaseSpec{{
		Name: "wait", Doc: "waits; its result has began_ns, the start by CLOCK_REALTIME",
		With: []protocol.Param{{Name: "for", Doc: "how long, such as 500ms", Required: true}},
	}}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		return map[string]protocol.Phase{"wait": pauseWait}, nil, nil
	},
}

func pauseWait(ctx context.Context, c *protocol.Call) (any, error) {
	began := time.Now().UnixNano()
	var with struct {
		For string `json:"for"`
	}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(with.For)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("for: %q: want a time such as 500ms", with.For)
	}
	return map[string]int64{"began_ns": began}, wait(ctx, d)
}

// wait returns after d, or earlier with the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
