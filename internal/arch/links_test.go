package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`^#{1,6} +(.*?) *$`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
	linkText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	goCommand    = regexp.MustCompile(`\bgo (?:run|test|build|vet|doc|generate)\b[^\n` + "`" + `]*`)
	localPath    = regexp.MustCompile(`(?:^|\s)\./([\w./-]+)`)
	makeCommand  = regexp.MustCompile("(?m)(?:`|^    )make ([a-z][a-z-]*)")
	makeTarget   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// prose returns a Markdown file's lines without its code: fenced and indented blocks and code spans.
func prose(text string) []string {
	var lines []string
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && !strings.HasPrefix(line, "    "):
			lines = append(lines, codeSpan.ReplaceAllString(line, ""))
		}
	}
	return lines
}

// anchors returns the fragments that a Markdown file's headings can be linked by, as GitHub and GitLab make them: lower case,
// spaces as hyphens, other punctuation left out, and a number behind the second heading of the same text.
func anchors(text string) []string {
	var all []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		m := heading.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if fenced || m == nil {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linkText.ReplaceAllString(m[1], "$1"))
		unique := anchor
		for n := 1; slices.Contains(all, unique); n++ {
			unique = fmt.Sprintf("%s-%d", anchor, n)
		}
		all = append(all, unique)
	}
	return all
}

// brokenLinks returns the relative links in a Markdown file that lead to no file, or to no heading of a Markdown file.
func brokenLinks(path, text string) []string {
	var broken []string
	for _, line := range prose(text) {
		for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
			if strings.Contains(m[1], ":") { // https://, mailto:
				continue
			}
			file, fragment, hasFragment := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				broken = append(broken, m[1]+": no such file")
				continue
			}
			if !hasFragment || filepath.Ext(target) != ".md" {
				continue
			}
			linked, err := os.ReadFile(target)
			if err != nil {
				broken = append(broken, fmt.Sprintf("%s: %v", m[1], err))
			} else if !slices.Contains(anchors(string(linked)), fragment) {
				broken = append(broken, m[1]+": no such heading")
			}
		}
	}
	return broken
}

// brokenCommands returns the directories of go commands and the targets of make in a Markdown file that do not exist.
func brokenCommands(text string, targets []string) []string {
	var broken []string
	for _, command := range goCommand.FindAllString(text, -1) {
		for _, m := range localPath.FindAllStringSubmatch(command, -1) {
			dir := strings.TrimRight(strings.TrimSuffix(m[1], "..."), "/.")
			if _, err := os.Stat(filepath.Join(top, dir)); err != nil {
				broken = append(broken, command+": no directory "+dir)
			}
		}
	}
	for _, m := range makeCommand.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(targets, m[1]) {
			broken = append(broken, "make "+m[1]+": no such target")
		}
	}
	return broken
}

// documents calls check with every Markdown file of the repository.
func documents(t *testing.T, check func(path, text string)) {
	t.Helper()
	n := 0
	sources(t, func(path string, text []byte) {
		if filepath.Ext(path) == ".md" {
			n++
			check(path, string(text))
		}
	})
	if n < 10 {
		t.Fatalf("only %d documents found", n)
	}
}

func TestLinksInDocsLeadSomewhere(t *testing.T) {
	links := 0
	documents(t, func(path, text string) {
		links += strings.Count(text, "](")
		for _, b := range brokenLinks(filepath.Join(top, path), text) {
			t.Errorf("%s: %s", path, b)
		}
	})
	if links < 20 {
		t.Errorf("only %d links found", links)
	}
}

func TestCommandsInDocsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, m[1])
	}
	documents(t, func(path, text string) {
		for _, b := range brokenCommands(text, targets) {
			t.Errorf("%s: %s", path, b)
		}
	})
}

// TestBrokenLinksAndCommandsAreFound holds the two rules above against a document in which some are broken.
func TestBrokenLinksAndCommandsAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	text := "# One, `two`: *three*\n\n## Again\n\n## Again\n" +
		"[a](#one-two-three) [b](#again-1) [c](a.md#again) [d](https://example.org/x#y) `[e](code.md)` ![f](none.png)\n" +
		"[g](#again-2) [h](a.md#One) [i](b.md#x)\n```\n[j](fenced.md)\n# Fenced\n```\n    [k](indented.md)\n[l](#fenced)\n" +
		"    go run ./cmd/meridian demo -- ./internal/none\n`go test ./align/...` `go doc ./alin`\n" +
		"    make demo\n`make demos` and make sense of it\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"none.png: no such file", "#again-2: no such heading", "a.md#One: no such heading",
		"b.md#x: no such file", "#fenced: no such heading"}
	if got := brokenLinks(path, text); !slices.Equal(got, want) {
		t.Errorf("broken links %q, not %q", got, want)
	}
	want = []string{"go run ./cmd/meridian demo -- ./internal/none: no directory internal/none",
		"go doc ./alin: no directory alin", "make demos: no such target"}
	if got := brokenCommands(text, []string{"demo"}); !slices.Equal(got, want) {
		t.Errorf("broken commands %q, not %q", got, want)
	}
}
