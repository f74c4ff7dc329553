package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// writing is a shell script of the commands that write, each with all kinds of what it writes. $flag is a flag of all commands. What the
// server's processes and their recorders leave behind is written while they run.
const writing = `
set -e
umask 022
m() { meridian $flag "$@" >>said 2>&1 || { cat said; echo "failed: $*"; exit 1; }; }
mkdir -m 700 rings tmp
export TMPDIR=$PWD/tmp
m simulate --duration 2s --hosts 2 --format pcap -o simulated
set -- simulated/*.pcap*
m align "$@" -o report.json -o t.html -o t.pcapng -o t.pftrace -o t.chrome.json -o t.ctf -o t.csv -o t.jsonl -o t.txt -o t.parquet -o t.picl -o t.plot -o t.svg -o t.png -o again/
m evaluate "$@" --plots plots
m view "$@" --index t.mvx -o page.html
m record -o trace --rings rings --host web -- emit 100
m record -o file --rings rings -- sh -c '>by-the-program; umask >umask-of-program'
m demo --duration 1s --dir demo
m clock key -o lab.key
m server init --dir stored --name 127.0.0.1
m server invite --dir stored web
m server init --dir other --name 127.0.0.1 --external
meridian $flag run --new >start.yaml
m run start.yaml --on processes -o ran
mkfifo -m 600 url
meridian $flag server --dir plain --listen 127.0.0.1:0 >url 2>said-by-server &
server=$!
read -r url <url
m agent --server $url -o sent --session night --host web -- -q --rings rings -- emit 100
m server fetch night --server $url -o fetched
kill -INT $server
wait $server || true
`

func TestWhatCommandsWriteIsReadableByTheirUserAloneUnlessPublic(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out with -short: starts every command that writes")
	}
	for flag, readable := range map[string]bool{"": false, "--public": true} {
		t.Run("flag "+flag, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := exec.Command("sh", "-c", "flag="+flag+"\n"+writing)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			others, seen := 0, 0
			of := map[string]bool{} // names at the top
			if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || path == dir {
					return err
				}
				name, _ := filepath.Rel(dir, path)
				switch name {
				case "said", "said-by-server", "start.yaml", "rings", "tmp", "url": // of the script
					return nil
				case "by-the-program", "umask-of-program":
					if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o644 {
						t.Errorf("%s, which the recorded program wrote under umask 022: mode %v, %v", name, info.Mode(), err)
					}
					return nil
				}
				info, err := e.Info()
				if err != nil {
					return err
				}
				if info.Mode()&fs.ModeSymlink != 0 {
					return nil
				}
				seen++
				of[strings.Split(name, string(filepath.Separator))[0]] = true
				if info.Mode().Perm()&0o077 != 0 {
					others++
					if !readable {
						t.Errorf("%s: mode %v", name, info.Mode())
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if readable && others < seen/2 {
				t.Errorf("with --public others may read %d of %d", others, seen)
			}
			for _, want := range []string{"simulated", "report.json", "t.ctf", "t.mvx", "trace", "stored", "plain", "sent", "fetched", "ran", "web.invitation", "lab.key", "plots", "again"} {
				if !of[want] {
					t.Errorf("nothing was written to %s", want)
				}
			}
			if mask, err := os.ReadFile(filepath.Join(dir, "umask-of-program")); strings.TrimLeft(string(mask), "0") != "22\n" {
				t.Errorf("the recorded program has umask %s, %v", mask, err)
			}
			for _, key := range []string{"lab.key", "web.invitation", "stored/.trust"} { // keys are nobody else's, whatever is asked
				if info, err := os.Stat(filepath.Join(dir, key)); err != nil || info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s: %v, %v", key, info, err)
				}
			}
		})
	}
}
