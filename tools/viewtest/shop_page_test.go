//go:build !race && linux

package viewtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	run, _ := exec.Command("nice", "-n", "-15", filepath.Join(dir, "meridian"), "run", "../../examples/shop/experiment.yaml", "-o", results, "-q").CombinedOutput()
	if _, err := os.Stat(filepath.Join(results, "timeline.html")); err != nil {
		t.Fatalf("%v\n%s", err, run)
	}
	p := b.address(t, "file://"+filepath.Join(results, "timeline.html"), "light")
	p.key("q")
	p.until(requestRows+`.length === 100`, "the requests are not listed")
	p.typed("#panel-requests input[type=search]", "front store")
	p.until(`/ of [0-9]+ requests of .* in all/.test(document.querySelector("#panel-requests .said").textContent)`, "the filter does not choose")
	// The slowest is the first; on a busy machine another may be slower still.
	found := false
	for i := 0; i < 20 && !found; i++ {
		value[bool](p.logic, fmt.Sprintf(`(document.querySelectorAll("#panel-requests tbody .pick")[%d].click(), true)`, i))
		p.until(`document.querySelector(".path-total")`, "a press shows no path")
		p.still()
		found = strings.Contains(p.text(), "The longest part: lock on store")
	}
	if text := p.text(); !found || !strings.Contains(text, "report ") {
		t.Errorf("the guide does not lead to the thread report:\n%s", text)
	}
	p.shots("shop")
}
