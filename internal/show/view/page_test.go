package view

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No module may reach out of the page, nor have text taken for markup or code.
func TestNoModuleOfThePageReachesOut(t *testing.T) {
	modules, err := filepath.Glob("page/*.js")
	if err != nil || len(modules) < 30 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	allowed := map[string]string{"http:": "http://www.w3.org/", "https:": `"https://ui.perfetto.dev"`}
	for _, path := range append(modules, "page_bundle.js") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code := string(text)
		for _, word := range []string{"</script", "<!--", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "XMLHttpRequest",
			"WebSocket", "sendBeacon", "import(", "http:", "https:"} {
			if strings.Count(code, word) > known(code, allowed[word]) {
				t.Errorf("%s has %q", path, word)
			}
		}
		// A trace is given to one site, in a tab that is opened for it at a press.
		if n := strings.Count(code, "window.open("); n > 1 || n == 1 && !strings.Contains(code, allowed["https:"]) {
			t.Errorf("%s opens another tab than that of Perfetto", path)
		}
		// What a live timeline tells comes from the page's own server.
		if strings.Count(code, "EventSource") != strings.Count(code, "new EventSource(`api/live?since=") {
			t.Errorf("%s has another EventSource than that of the server", path)
		}
		if (strings.Contains(code, "fetch(") || strings.Contains(code, "EventSource")) && path != "page/data.js" && path != "page_bundle.js" {
			t.Errorf("%s makes a request: that is for data.js", path)
		}
	}
}

// known counts what is allowed.
func known(code, text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(code, text)
}

// The digest of the modules is in the script that is made of them (tools/pagebundle).
func TestTheScriptIsMadeOfTheModules(t *testing.T) {
	modules, err := filepath.Glob("page/*.js")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, path := range modules {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s\x00%s\x00", filepath.Base(path), text)
	}
	first, _, _ := strings.Cut(pageScript, "\n")
	if want := fmt.Sprintf("(sha256:%x)", sum.Sum(nil)[:8]); !strings.Contains(first, want) {
		t.Errorf("page_bundle.js is out of date: go generate ./internal/show/view (%s, want %s)", first, want)
	}
}

// What stands in the page cannot end its element, nor be taken for a mark of page.html.
func TestThePartsOfThePageFit(t *testing.T) {
	p := thePage()
	if n := len(p.parts); n != 11 {
		t.Errorf("page.html has %d parts", n)
	}
	if strings.Contains(p.style, "</") || strings.Contains(p.script, "</script") {
		t.Error("a style or script ends early")
	}
	if first, _, _ := strings.Cut(p.script, "(() =>"); !strings.HasSuffix(first, "DO NOT EDIT.\n\"use strict\";\n") {
		t.Errorf("the script begins with %q", first)
	}
}
