package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	codeOfPage    = regexp.MustCompile("(?ms)^(?:    [^\n]*\n)+|^```(?:sh|console)\n.*?^```$")
	commentOfCode = regexp.MustCompile(`\s{2,}#.*|^#.*`)
	commandOfCode = regexp.MustCompile(`(?:^|[ (]|&& )meridian ((?:[^&|>;\n]|'[^']*')*)`)
)

// Commands of pages for people name subcommands and flags that there are. What they do is tried by other tests.
func TestPagesShowCommandsThatThereAre(t *testing.T) {
	for page, least := range map[string]int{"README.md": 20, "docs/quickstart.md": 15} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, block := range codeOfPage.FindAllString(string(text), -1) {
			for line := range strings.Lines(block) {
				line = commentOfCode.ReplaceAllString(strings.TrimSpace(line), "")
				for _, found := range commandOfCode.FindAllStringSubmatch(line, -1) {
					words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(found[1]))
					root := newRoot()
					root.InitDefaultHelpCmd()
					root.InitDefaultCompletionCmd()
					cmd, args, err := root.Find(words)
					if err == nil {
						err = cmd.ParseFlags(args)
					}
					if err != nil || !cmd.HasParent() {
						t.Errorf("%s: meridian %s: %v", page, found[1], err)
					}
					seen++
				}
			}
		}
		if seen < least {
			t.Errorf("%s: %d commands found, at least %d expected", page, seen, least)
		}
	}
}
