//go:build !race && linux

package viewtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// TestTheGuideOfTheShopFindsItsFault runs the example shop and follows docs/shop.md in the page: three actions from the first view to the thread
// that orders waited for.
func TestTheGuideOfTheShopFindsItsFault(t *testing.T) {
	b := startPanelBrowser(t)
	testneed.Root(t, "network namespaces and kernel events")
	testneed.Program(t, "redis-server")
	testneed.Program(t, "redis-cli")
	testneed.Program(t, "nats-server")
	testneed.Program(t, "python3")
	dir := t.TempDir()
	for name, pkg := range map[string]string{"shop": "../../examples/shop", "meridian": "../../cmd/meridian"} {
		// go run keeps what it links.
		if out, err := exec.Command("go", "run", "-exec", "cp", pkg, filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	results := filepath.Join(dir, "results")
	// A busy machine's customers wait for other reasons too: other tests come after the shop, and the answers of the checks do not count here.
	run, _ := exec.Command("nice", "-n", "-15", filepath.Join(dir, "meridian"), "run", patientShop(t), "-o", results, "-q").CombinedOutput()
	if _, err := os.Stat(filepath.Join(results, "timeline.html")); err != nil {
		t.Fatalf("%v\n%s", err, run)
	}
	p := b.address(t, "file://"+filepath.Join(results, "timeline.html"), "light")
	p.key("q")
	p.until(requestRows+`.length === 100`, "the requests are not listed")
	p.typed("#panel-requests input[type=search]", "front store")
	p.until(`/ of [0-9]+ requests of .* in all/.test(document.querySelector("#panel-requests .said").textContent)`, "the filter does not choose")
	// The slowest is the first. On a busy machine others may be slower still, and the command says which of the listed waited for the lock.
	longest := longestParts(t, results)
	at := max(0, slices.Index(longest, "lock on store"))
	value[bool](p.logic, fmt.Sprintf(`(document.querySelectorAll("#panel-requests tbody .pick")[%d].click(), true)`, at))
	p.until(`document.querySelector(".path-total")`, "a press shows no path")
	p.still()
	text := p.text()
	for name := range strings.SplitSeq(longest[at], " or ") {
		if !strings.Contains(text, name) {
			t.Errorf("request %d: the page does not say %q, of which the command says that it is the longest part:\n%s", at, longest[at], text)
		}
	}
	if longest[at] == "lock on store" && !(strings.Contains(text, "The longest part: lock on store") && strings.Contains(text, "report ")) {
		t.Errorf("request %d: the guide does not lead to the thread report:\n%s", at, text)
	}
	p.shots("shop")
}

// longestParts returns the longest part of each request that the guide lists, in the order of the page, as meridian requests names it.
func longestParts(t *testing.T, results string) (parts []string) {
	args := []string{"requests", "-q", "--json", "-n", "100", "--match", "front store"}
	for _, host := range []string{"front", "work", "store"} {
		args = append(args, host+"="+filepath.Join(results, "hosts", host, "trace"))
	}
	c := exec.Command("meridian", args...)
	c.Stderr = os.Stderr
	out, err := c.Output() // exit code 3 where recorders lost events
	for line := range strings.Lines(string(out)) {
		var request struct{ Longest string }
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		parts = append(parts, request.Longest)
	}
	if len(parts) != 100 {
		t.Fatalf("meridian requests lists %d requests, want 100: %v", len(parts), err)
	}
	return parts
}

// patientShop returns the file of the example with more time than it has for itself, which a busy machine may need.
func patientShop(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"experiment.yaml", "bank.py"} {
		b, err := os.ReadFile(filepath.Join("../../examples/shop", name))
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.Replace(b, []byte("timeout: 2m"), []byte("timeout: 10m"), 1)
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "experiment.yaml")
}
