package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// steers returns the first rune of a text that steers a terminal or turns a line's direction, 0 for none.
func steers(text string) rune {
	for _, c := range text {
		if c != '\n' && c != '\t' && c != '\r' && !unicode.IsPrint(c) {
			return c
		}
	}
	return 0
}

func TestNamesFromTracesSteerNoTerminalAndForgeNoMessage(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, diagnostics bytes.Buffer
	if code := run([]string{"simulate", "-q", "-o", "net", "--hosts", "2", "--duration", "2s", "--format", "pcap"}, &out, &diagnostics); code != exitDone {
		t.Fatalf("exit %d: %s", code, &diagnostics)
	}
	evil := map[string]string{
		"host0.pcapng": "web\x1b]0;title\a\nmeridian: warning: forged.pcapng",
		"host1.pcapng": "db\u202e\u009b31m.pcapng",
	}
	for from, to := range evil {
		if err := os.Rename(filepath.Join("net", from), to); err != nil {
			t.Fatal(err)
		}
	}
	web, db := evil["host0.pcapng"], evil["host1.pcapng"]
	again, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("again\x1b[2J.pcapng", again, 0o600); err != nil { // so that a warning names it
		t.Fatal(err)
	}
	if err := os.WriteFile("none\x1b[2J\nmeridian: forged.pcap", []byte("no trace"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"align", web, db, "again\x1b[2J.pcapng", "-o", "merged\u202e.pcapng"},
		{"align", "none\x1b[2J\nmeridian: forged.pcap", db},
		{"align", "missing\x1b[2J\nmeridian: forged", db},
		{"align", "-o", "unknown\x1b[2J.format", web, db},
		{"align", "--unknown\x1b[2J", web},
		{"evaluate", web, db},
	} {
		out.Reset()
		diagnostics.Reset()
		run(args, &out, &diagnostics)
		if c := steers(out.String() + diagnostics.String()); c != 0 {
			t.Errorf("%q: %U is printed:\n%q\n%q", args, c, out.String(), diagnostics.String())
		}
		if said := diagnostics.String(); strings.Contains("\n"+said, "\nmeridian: forged") || strings.Contains("\n"+said, "\nmeridian: warning: forged") {
			t.Errorf("%q: a name is a message of its own:\n%s", args, said)
		}
	}
	master, slave := terminal(t)
	diagnostics.Reset()
	if code := run([]string{"requests", "-q", "--slowest", "1", web, db}, slave, &diagnostics); code != exitDone {
		t.Fatalf("requests: exit %d: %s", code, &diagnostics)
	}
	shown := make([]byte, 4096)
	n, err := master.Read(shown)
	if err != nil {
		t.Fatal(err)
	}
	if c := steers(string(shown[:n])); c != 0 || !strings.Contains(string(shown[:n]), "web") {
		t.Errorf("requests on a terminal: %U in %q", c, shown[:n])
	}
}
