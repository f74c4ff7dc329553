package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/wire"
)

func TestAnotherServersPlanIsFollowedWhenTheFirstIsSilent(t *testing.T) {
	p := &agentProbes{host: "web", session: "night", file: filepath.Join(t.TempDir(), probesFile), reached: "127.0.0.1"}
	plan := func(server, digit string) []byte {
		return wire.Encode(wire.ProbePlan{Version: wire.Version, Server: server, Session: "night", Key: strings.Repeat(digit, 64)})
	}
	at := time.Unix(1e9, 0)
	for _, x := range []struct {
		after  time.Duration
		server string
		key    string // that is followed then
	}{
		{0, "a", "a"}, {time.Second, "b", "a"}, {time.Second, "a", "a"}, {2900 * time.Millisecond, "b", "a"}, {100 * time.Millisecond, "b", "b"}, {time.Second, "a", "b"},
	} {
		at = at.Add(x.after)
		if err := p.follow(plan(x.server, x.server), at); err != nil {
			t.Fatal(err)
		}
		if p.plan.Key[:1] != x.key {
			t.Errorf("%v after the one before, a plan of %s: the key %.4s is used", x.after, x.server, p.plan.Key)
		}
	}
}
