package spool

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestReleasedFilesAreReadAsTheyWereAddedBesideLinesThatWereCutOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ReleasedFile)
	add := func(trace string, files ...Released) {
		t.Helper()
		if err := AddReleased(dir, trace, files); err != nil {
			t.Fatal(err)
		}
	}
	want := func(trace string, files ...Released) {
		t.Helper()
		got, err := ReadReleased(dir, trace)
		expected := make(map[string]Released)
		for _, x := range files {
			expected[x.File] = x
		}
		if err != nil || !reflect.DeepEqual(got, expected) {
			t.Errorf("%v, %v, not %v", got, err, expected)
		}
	}
	a, b, c := Released{"a", 1, 2, []string{"s"}}, Released{"b", 3, 0, []string{"s", "t"}}, Released{"c", 5, 6, nil}
	want("t")
	add("t", a)
	add("t", b)
	want("t", a, b)
	want("u")
	for cut := range int64(20) { // the last line, and what is added behind it
		size := fileSize(t, path)
		add("t", c)
		want("t", a, b, c)
		if err := os.Truncate(path, fileSize(t, path)-1-cut); err != nil {
			t.Fatal(err)
		}
		a.Bytes++
		add("t", a)
		if cut == 0 {
			want("t", a, b, c) // without its end it is whole
		} else {
			want("t", a, b)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		add("t", a)
	}
	add("u", c)
	want("u", c)
	want("t")
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
