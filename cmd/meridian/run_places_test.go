//go:build linux

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// placesFile is an experiment whose result says what it did where: state between phases, files of the experiment, gathered files.
const placesFile = `files: [adder.sh, sub/data]
hosts: {a: {ssh: "%", address: 127.77.0.1}, b: {ssh: "%", agent: b.example.org, address: 127.77.0.2}}
daemons:
  adder: {hosts: all, run: [sh, adder.sh], speaks: true}
  copies: {host: b, shell: "cp sub/data copy; cat copy", gather: [copy]}
  keeps: {host: a, shell: "cp sub/data same", gather: [same]}
schedule:
  - {phase: adder.add, with: {n: 2}}
  - [copies, keeps, {phase: adder.add, with: {n: 3}}]
expect:
  - {result: adder.add.sum, max: 5}
  - {equal: ["a:keeps/same", "b:copies/copy"]}
  - {exit: copies}
  - {result: adder.add.sum, min: 6}
`

const adderDaemon = `sum=0
echo '{"waiting":["add"]}'
while read -r line; do
	call=${line#*\"start\":}; call=${call%%,*}
	n=${line#*\"n\":}; n=${n%%\}*}
	sum=$((sum + n))
	echo "{\"done\":$call,\"result\":{\"sum\":$sum}}"
done
`

// played is what must be the same wherever a file runs.
type played struct {
	Verdict string
	Checks  []struct{ Name, Answer string }
	Run     struct {
		Blocks []struct {
			Name   string
			Phases []struct {
				Host, Daemon, Phase, Error string
				Result                     json.RawMessage
			}
		}
	}
}

// TestAFileDoesTheSameEverywhere runs a file as processes, in namespaces, by ssh and at agents: phases, results and answers are the same.
// The server of ssh is OpenSSH's on the loopback interface, as is the server of the agents.
func TestAFileDoesTheSameEverywhere(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("e.yaml", strings.ReplaceAll(placesFile, "%", "there"), 0o666)
	write("adder.sh", adderDaemon, 0o666)
	write("sub/data", strings.Repeat("0123456789abcdef", 50_000), 0o666) // several lines of the protocol
	run := func(t *testing.T, on, bin string, flags ...string) string {
		out := filepath.Join(dir, "out-"+on)
		c := exec.Command("meridian", append([]string{"run", filepath.Join(dir, "e.yaml"), "--on", on, "-o", out, "-q"}, flags...)...)
		c.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "PATH=") }), "PATH="+strings.TrimPrefix(bin+":"+os.Getenv("PATH"), ":"))
		text, _ := c.CombinedOutput() // one answer is no
		b, err := os.ReadFile(filepath.Join(out, "report.json"))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var p played
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		if b, err = json.MarshalIndent(p, "", " "); err != nil {
			t.Fatal(err)
		}
		if p.Verdict != "no" || len(p.Checks) != 4 || p.Checks[1].Answer != "yes" || p.Checks[3].Answer != "no" {
			t.Errorf("%s\n%s", b, text)
		}
		log, err := os.ReadFile(filepath.Join(out, "hosts", "b", "log", "copies.log"))
		if err != nil || !strings.Contains(string(log), " out 0123456789abcdef") {
			t.Errorf("log of copies: %v", err)
		}
		return string(b)
	}
	processes := run(t, "processes", "")
	same := func(t *testing.T, got string) {
		if got != processes {
			t.Errorf("%s\nas processes: %s", got, processes)
		}
	}
	t.Run("namespaces", func(t *testing.T) {
		testneed.Root(t, "network namespaces")
		testneed.Program(t, "ip")
		same(t, run(t, "namespaces", ""))
	})
	t.Run("agents", func(t *testing.T) {
		f := newFleet(t)
		list := f.allowing("shell\nrun "+testneed.Program(t, "sh")+"\n", "a", "b.example.org")
		same(t, run(t, "agents", "", "--server", f.url))
		if left, err := filepath.Glob(filepath.Join(f.dir, "*", ".run", "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", list, left, err)
		}
	})
	t.Run("ssh", func(t *testing.T) {
		bin, cache := sshServer(t)
		same(t, run(t, "ssh", bin))
		if names, err := filepath.Glob(filepath.Join(cache, "meridian/run/*/meridian")); err != nil || len(names) != 1 {
			t.Errorf("programs that ssh brought: %v, %v", names, err)
		}
	})
}
