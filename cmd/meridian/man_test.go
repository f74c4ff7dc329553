package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command that help lists has a page, with its summary and all of its flags, and none begins a line with a request that roff does not have.
func TestEveryCommandHasAPageWithAllItsFlags(t *testing.T) {
	dir := t.TempDir()
	if code := run([]string{"man", dir}, os.Stdout, os.Stderr); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	pages := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		pages++
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		b, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		page := strings.ReplaceAll(string(b), `\-`, "-")
		if !strings.Contains(page, "\n"+name+" - "+strings.ReplaceAll(c.Short, `\`, `\e`)+"\n") {
			t.Errorf("%s has not its summary", name)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(page, "--"+f.Name+`\fR`) == f.Hidden {
				t.Errorf("%s and --%s", name, f.Name)
			}
		})
		for line := range strings.Lines(page) {
			request, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !strings.Contains(" .TH .SH .PP .TP .nf .fi .B .BR ", " "+request+" ") {
				t.Errorf("%s: %q is no request", name, line)
			}
		}
		for _, sub := range manual(c) {
			walk(sub)
		}
	}
	walk(root.Command)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != pages || pages < 20 {
		t.Errorf("%d files, %d commands, %v", len(files), pages, err)
	}
}

func TestTextInRoffReadsAsItWas(t *testing.T) {
	for text, want := range map[string]string{
		"a-b": `a\-b`, ".report.json": `\&.report.json`, "x\n'y": "x\n" + `\&'y`, `C:\n`: `C:\en`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
