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
		if err := dirs.answer(context.Background(), &out, &request{Op: test.op, Path: test.path}, func(string, ...any) { logged++ }); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		var a answer
		if err := readLine(bufio.NewReader(&out), &a); err != nil || !strings.Contains(a.Refused, test.says) || logged != 1 {
			t.Errorf("%+v: %+v, %v, logged %d times", test, a, err, logged)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := dirs.answer(ended, new(bytes.Buffer), &request{Op: opRead, Path: "x"}, func(string, ...any) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if text := fmt.Sprint(&RefusedError{"web", "no"}); !strings.Contains(text, `"web"`) || !strings.Contains(text, "no") {
		t.Error(text)
	}
	if _, err := CheckDirs([]string{filepath.Join(dir, "text")}); err == nil {
		t.Error("a file is a directory")
	}
}
