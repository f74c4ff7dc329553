//go:build peers

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"meridian/internal/s3/s3test"
)

// TestObjectStoresOfOthersAreReadLikeTheDirectory archives three hosts into stores of others that are killed (-9) and started again meanwhile, and aligns
// them from there: the outputs are those of the directory, byte for byte.
//
//	restart      kill the store and start it again
//	equals NAME  run the script's align of s3:// until its outputs are those of the directory
func TestObjectStoresOfOthersAreReadLikeTheDirectory(t *testing.T) {
	s3test.EachPeer(t, func(t *testing.T, p *s3test.Peer) {
		testscript.Run(t, testscript.Params{
			Dir: "testdata/peers", RequireExplicitExec: true,
			Setup: func(e *testscript.Env) error {
				e.Values["bench"] = &bench{t: e.T()}
				for _, v := range p.Environment() {
					name, value, _ := strings.Cut(v, "=")
					e.Setenv(name, value)
				}
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"exits": exits, "world": makeWorld, "lttng": writeLTTng,
				"restart": func(*testscript.TestScript, bool, []string) { p.Restart() },
				"equals": func(ts *testscript.TestScript, neg bool, args []string) {
					arguments(ts, neg, args, 0, 0)
					began := time.Now()
					for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
						c := exec.Command("meridian", "align", "-q", "s3://bucket/runs/night/web", "s3://bucket/runs/night/db", "s3://bucket/runs/night/app",
							"-o", ts.MkAbs("out3.pftrace"), "-o", ts.MkAbs("out3.csv"), "-o", ts.MkAbs("report3.report.json"))
						c.Env = append(os.Environ(), p.Environment()...)
						said, err := c.CombinedOutput()
						same := err == nil
						for one, other := range map[string]string{"out.pftrace": "out3.pftrace", "out.csv": "out3.csv", "report.json": "report3.report.json"} {
							same = same && bytes.Equal([]byte(ts.ReadFile(one)), []byte(ts.ReadFile(other)))
						}
						if same {
							t.Logf("the outputs are equal %v after the last restart", time.Since(began).Round(time.Millisecond))
							return
						}
						if time.Now().After(end) {
							ts.Fatalf("the outputs differ: %v: %s", err, said)
						}
					}
				},
			},
		})
	})
}
