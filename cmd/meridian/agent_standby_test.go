package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A flag that is added to 'meridian record' is refused from servers until somebody decides otherwise here.
func TestOnlyFlagsThatSayWhatIsRecordedComeFromServers(t *testing.T) {
	values := map[string]string{
		"program": "web*", "kernel": "net", "packets": "lo", "snaplen": "64", "filter": "port 80", "netns": "blue", "title": "text", "flush": "10ms", "keep": "10s", "quiet": "true",
	}
	newRecord().Flags().VisitAll(func(f *pflag.Flag) {
		value, may := values[f.Name]
		if !may {
			if value = f.DefValue; f.Name == "ready-fd" {
				value = "3"
			} else if f.Name == "keep" {
				value = "10s"
			}
		}
		err := checkCommanded([]string{"--" + f.Name + "=" + value}, true)
		if (err == nil) != may || err != nil && !strings.Contains(err.Error(), "--"+f.Name) {
			t.Errorf("--%s=%s: %v", f.Name, value, err)
		}
	})
	for _, args := range [][]string{{"-ox"}, {"-qo", "x"}, {"--output", "x"}, {"x"}, {"--snaplen", "many"}, {"-h"}} {
		if checkCommanded(args, true) == nil {
			t.Errorf("%q is permitted", args)
		}
	}
	command := []string{"--kernel", "net", "--", "touch", "x"}
	if err := checkCommanded(command, false); err == nil || !strings.Contains(err.Error(), "--allow-commands") {
		t.Errorf("a command without permission: %v", err)
	}
	if err := checkCommanded(command, true); err != nil {
		t.Error(err)
	}
	if err := checkCommanded([]string{"stray", "--", "touch", "x"}, true); err == nil {
		t.Error("an argument before -- is permitted")
	}
}

func TestTheLastLineThatSaysSomethingIsRemembered(t *testing.T) {
	var out strings.Builder
	l := &lastLine{to: &out}
	for _, part := range []string{"meridian: first\nmeridian: the ", "fault\x1b[2J\n", "Try 'meridian record --help'.\n", "\n", "not a line yet"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.String(); got != "the fault?[2J" {
		t.Errorf("%q", got)
	}
	if !strings.HasSuffix(out.String(), "not a line yet") {
		t.Errorf("%q was handed on", out.String())
	}
}
