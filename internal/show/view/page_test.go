package view

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryFileOfThePageIsInIt(t *testing.T) {
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, ending, _ := strings.Cut(f.Name(), ".")
		known := map[string][]string{"js": scripts, "css": styles, "html": {"page"}}[ending]
		if !slices.Contains(known, name) {
			t.Errorf("%s is in no list", f.Name())
		}
	}
	if n := len(scripts) + len(styles) + 1; n != len(files) {
		t.Errorf("%d files are listed, %d are there", n, len(files))
	}
}

// A part may not reach out of the page, nor have anything taken for markup or code.
func TestEveryPartOfThePageIsQuiet(t *testing.T) {
	for _, name := range scripts {
		code := pageFile(name + ".js")
		for _, word := range []string{"</script", "<!--", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "XMLHttpRequest",
			"WebSocket", "EventSource", "sendBeacon", "import(", "http:", "https:"} {
			if strings.Contains(code, word) && !(word == "http:" && strings.Count(code, "http:") == strings.Count(code, "http://www.w3.org/")) {
				t.Errorf("%s.js has %q", name, word)
			}
		}
		if strings.Contains(code, "fetch(") && name != "data" {
			t.Errorf("%s.js asks for something by itself: that is for data.js", name)
		}
	}
}
