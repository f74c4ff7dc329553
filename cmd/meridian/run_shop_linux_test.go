package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// slowRequest is a request with the path that made it slow, as meridian requests --json prints it.
type slowRequest struct {
	Client, Server, Longest string
	Path                    struct {
		Request struct {
			Total int64
			Peer  string
		}
		Pieces []struct {
			Number     int `json:"row"`
			Begin, End int64
			Name       string
		}
	}
	Rows map[int]struct{ Host, Name string }
}

// forThread sums the pieces in which a thread had a lock.
func (w *slowRequest) forThread(name string) (ns int64) {
	for _, p := range w.Path.Pieces {
		if r := w.Rows[p.Number]; p.Name == "lock" && r.Host == "store" && strings.HasPrefix(r.Name, name) {
			ns += p.End - p.Begin
		}
	}
	return ns
}

// leastFound is how long a request waits at least that waited for the report, ns: the report takes some 70 ms.
const leastFound = 20_000_000

// TestTheFaultOfTheShopIsFound follows docs/shop.md: an order at the front end waits for a lock of the interpreter that a thread of the bank has, two
// hosts away. With the report in a process of its own, nobody waits for it.
func TestTheFaultOfTheShopIsFound(t *testing.T) {
	testneed.Root(t, "network namespaces and kernel events")
	testneed.Program(t, "redis-server")
	testneed.Program(t, "redis-cli")
	testneed.Program(t, "nats-server")
	testneed.Program(t, "python3")
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../../examples/shop").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	// The second run has what the guide changes. Either may take longer than the example's two minutes on a busy machine.
	files := map[string]string{
		"faulty": example(t, "shop/experiment.yaml", "timeout: 2m", "timeout: 10m"),
		"mended": example(t, "shop/experiment.yaml", "timeout: 2m", "timeout: 10m", "report_in: thread", "report_in: process"),
	}
	bank, err := os.ReadFile("../../examples/shop/bank.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "bank.py"), bank, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		finds bool
	}{{"faulty", true}, {"mended", false}} {
		results := filepath.Join(dir, c.name)
		// A busy machine's customers wait for other reasons too, and its recorders lose events: other tests come after the shop, and the answers
		// of the checks do not count here.
		out, _ := exec.Command("nice", "-n", "-15", "meridian", "run", files[c.name], "-o", results, "-q").CombinedOutput()
		b, err := os.ReadFile(filepath.Join(results, "report.json"))
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		var r runReport
		if err := json.Unmarshal(b, &r); err != nil || len(r.Checks) != 3 || r.Checks[0].Pair.Count != 120 {
			t.Fatalf("%s: %v, %+v\n%s", c.name, err, r, out)
		}
		slowest, orders := shopRequests(t, results)
		switch found := slowest.forThread("report"); {
		case orders == 0:
			t.Errorf("%s: no request of the front end is listed", c.name)
		// A busy machine's path can have a wait as long for a thread that is not recorded: both are named then.
		case c.finds && (found < leastFound || slowest.Longest != "lock on store" && !strings.HasPrefix(slowest.Longest, "lock on store or ")):
			t.Errorf("%s: of %d requests none waited for the report: most for %d ns, the longest part: %s", c.name, orders, found, slowest.Longest)
		case !c.finds && found > 0:
			t.Errorf("%s: a request waited %d ns for a process that has no lock of the bank", c.name, found)
		}
	}
}

// shopRequests returns the request of the front end that waited longest for the report, and how many it made.
func shopRequests(t *testing.T, results string) (slowest slowRequest, orders int) {
	args := []string{"requests", "-q", "--json", "-n", "1000", "--match", "front"}
	for _, host := range []string{"front", "work", "store"} {
		args = append(args, host+"="+filepath.Join(results, "hosts", host, "trace"))
	}
	c := exec.Command("meridian", args...)
	c.Stderr = os.Stderr
	out, err := c.Output() // exit code 3 where recorders lost events
	if len(out) == 0 {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var w slowRequest
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if w.Client != "front" || !strings.HasSuffix(w.Path.Request.Peer, ":4222") {
			continue
		}
		// Of those that waited long for the report, one of which it is known to be the longest part comes first.
		certain := func(w *slowRequest) bool { return w.Longest == "lock on store" }
		a, b := w.forThread("report"), slowest.forThread("report")
		better := a > b
		if a >= leastFound && b >= leastFound && certain(&w) != certain(&slowest) {
			better = certain(&w)
		}
		if orders++; orders == 1 || better {
			slowest = w
		}
	}
	return slowest, orders
}
