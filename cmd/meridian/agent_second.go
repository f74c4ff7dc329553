package main

import (
	"context"
	"time"
)

// tellRestAfter is how long what is left may take to be sent before a line says so.
const tellRestAfter = 500 * time.Millisecond

// endAtSecond calls stop at the second signal. Where sending lasts after the first, it says how to end it. It returns when sent is done: all is
// acknowledged, or the time until which is sent is over.
func (f *agentFlags) endAtSecond(ctx, sent context.Context, until time.Time, stop func(), log func(format string, args ...any)) {
	select {
	case <-ctx.Done():
	case <-sent.Done():
		return
	}
	again, leave := secondSignal(ctx)
	defer leave()
	tell := time.After(tellRestAfter)
	for {
		select {
		case <-sent.Done():
			return
		case <-tell:
			log("sending the rest, up to %v; ^C again ends now", time.Until(until.Add(tellRestAfter)).Round(time.Second))
		case <-again:
			f.cutShort = true
			stop()
			return
		}
	}
}
