package captures

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line without an end must not fill the memory of who waits for it.
func TestALineIsReadUpToItsBound(t *testing.T) {
	t.Parallel()
	var q request
	if err := readLine(bufio.NewReader(strings.NewReader(strings.Repeat(" ", maxLine+1))), &q); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

// What an operator may not have is an answer with the reason: the stream goes on.
func TestRequestsThatCannotBeMetAreAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dirs, err := CheckDirs([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ op, path, says string }{
		{"remove", dir, "update the agent"},
		{opRead, many, "is a directory"},
		{opRead, filepath.Join(dir, "text"), "neither pcap nor pcapng"},
		{opRead, filepath.Join(dir, "none"), "no such file"},
		{opList, filepath.Join(dir, "none"), "no such file"},
		{opList, "relative", "absolute path"},
	} {
		var out bytes.Buffer
		logged := 0
		agent := Agent{Dirs: dirs, Log: func(string, ...any) { logged++ }}
		if err := agent.answer(context.Background(), &out, &request{Op: test.op, Path: test.path}); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		var a answer
		if err := readLine(bufio.NewReader(&out), &a); err != nil || !strings.Contains(a.Refused, test.says) || logged != 1 {
			t.Errorf("%+v: %+v, %v, logged %d times", test, a, err, logged)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	agent := Agent{Dirs: dirs, Log: func(string, ...any) {}}
	if err := agent.answer(ended, new(bytes.Buffer), &request{Op: opRead, Path: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if text := fmt.Sprint(&RefusedError{"web", "no"}); !strings.Contains(text, `"web"`) || !strings.Contains(text, "no") {
		t.Error(text)
	}
	if _, err := CheckDirs([]string{filepath.Join(dir, "text")}); err == nil {
		t.Error("a file is a directory")
	}
}

// A file of any size is read within the agent's memory, and its disk may be full.
func TestPacketsAreKeptUntilTheyAreGivenAndAFullDiskIsAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := os.ReadFile(sample)
	path := filepath.Join(dir, "web.pcap")
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, full := range []error{nil, errors.New("the disk is full")} {
		m := &moving{full: full}
		agent := Agent{Dirs: Dirs{dir}, Memory: func(func(error)) Memory { return m }, Log: func(string, ...any) {}}
		var out bytes.Buffer
		if err := agent.answer(context.Background(), &out, &request{Op: opRead, Path: path}); err != nil {
			t.Fatal(err)
		}
		var a answer
		if err := readLine(bufio.NewReader(&out), &a); err != nil || full == nil && a.Refused != "" || full != nil && a.Refused != full.Error() {
			t.Errorf("%v: %+v (%v)", full, a, err)
		}
		if !m.kept || !m.closed || m.size != int64(len(b)) || m.done == 0 {
			t.Errorf("%+v, of %d bytes", m, len(b))
		}
	}
}
