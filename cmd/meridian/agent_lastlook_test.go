//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/sensor/ring"
)

// The recorders are scripts: one is interrupted before it catches signals, the next is asked for a last look.
// It is not parallel: a script that another test's child has open for writing cannot be started.
func TestAnAgentWhoseRecorderDiesOfItsInterruptTakesALastLookOrSaysWhichRingsAreUnread(t *testing.T) {
	for _, test := range []struct {
		name, look string
		flags      []string
		code       int
		wrong      []string // parts of what is wrong
	}{
		{"the last look reads the rings", "rm RING", nil, 0, nil},
		{"a COMMAND is not run", "rm RING", []string{"--", "true"}, 0, []string{"COMMAND was not run"}},
		{"events were lost", "rm RING; exit 3", nil, 3, nil},
		{"it cannot record", "exit 1", nil, 1, []string{"rings were left unread (RING): to record them, run the agent with -o DIR again"}},
		{"it is killed", "kill -9 $$", nil, 0, []string{"rings were left unread (RING): to record them, run the agent with -o DIR again"}},
		{"it is interrupted once and reads the rings then", "test -e DIR/again && exec rm RING; touch DIR/again; kill -9 $$", nil, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, rings := t.TempDir(), t.TempDir()
			left, err := ring.Create(ring.Options{Dir: rings, Program: "left", Shards: 1, Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
			if err != nil {
				t.Fatal(err)
			}
			defer left.Close()
			of := strings.NewReplacer("DIR", dir, "RING", left.Path())
			script := filepath.Join(t.TempDir(), "recorder")
			text := of.Replace("#!/bin/sh\ncase \"$*\" in\n*--last-look*true*) exit 1;;\n*--last-look*) " + test.look + "; exit;;\nesac\ntouch DIR/begun\nexec sleep 600\n")
			if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
						interrupt()
					}
					time.Sleep(time.Millisecond)
				}
			}()
			r := recorder{dir: dir, args: slices.Concat([]string{"--rings", rings}, test.flags), program: script, log: t.Logf}
			code, err := r.run(ctx)
			if err != nil || code != test.code || len(r.wrong) != len(test.wrong) {
				t.Fatalf("exit code %d, want %d; wrong are %q, want %q: %v", code, test.code, r.wrong, test.wrong, err)
			}
			for i, want := range test.wrong {
				if !strings.Contains(r.wrong[i], of.Replace(want)) {
					t.Errorf("%q does not say %q", r.wrong[i], of.Replace(want))
				}
			}
		})
	}
}
