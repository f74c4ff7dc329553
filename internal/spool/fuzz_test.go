package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"meridian/internal/testseed"
)

// FuzzRead reads accounts that a full disk, another version or another program left. One that is believed can be added to and is read
// back as it was written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":1,"trace":"t","files":{"a":{"size":5,"packets":1,"acknowledged":3,"lacking":1,"servers":["s"]}},"gone":{},"counted":{"a":true}}`))
	f.Add([]byte(`{"version":1,"files":null,"gone":null,"counted":null}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(``))
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, File), data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Read(dir)
		if err != nil {
			return
		}
		a.Files["new"], a.Gone["new"], a.Counted["new"] = Part{Size: 1}, Part{}, true
		if err := a.Write(dir); err != nil {
			t.Fatal(err)
		}
		first, err := os.ReadFile(filepath.Join(dir, File))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Write(dir); err != nil {
			t.Fatal(err)
		}
		if second, err := os.ReadFile(filepath.Join(dir, File)); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s becomes %s, %v", first, second, err)
		}
	})
}

// FuzzReleased reads what is told of files that are gone. What is there of this trace stays when another file is added; what a crash cut
// off costs its line.
func FuzzReleased(f *testing.F) {
	f.Add([]byte("{\"version\":1,\"trace\":\"t\"}\n{\"file\":\"a\",\"bytes\":7,\"packets\":2,\"servers\":[\"s\"]}\n{\"file\":\"a\",\"by"))
	f.Add([]byte("{\"version\":1,\"trace\":\"other\"}\n{\"file\":\"a\",\"bytes\":7}\n"))
	f.Add([]byte("{\"version\":1,\"trace\":\"t\"}\n{\"file\":\"a\",\"bytes\":-7}\nnull\n{}"))
	f.Add([]byte{})
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, ReleasedFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := ReadReleased(dir, "t")
		if err != nil {
			return
		}
		for name, x := range before {
			if name == "" || name != x.File || x.Bytes < 0 || x.Packets < 0 {
				t.Errorf("%q: %+v", name, x)
			}
		}
		added := Released{File: "new", Bytes: 1, Packets: 1, Servers: []string{"s"}}
		if err := AddReleased(dir, "t", []Released{added}); err != nil {
			t.Fatal(err)
		}
		before["new"] = added
		if after, err := ReadReleased(dir, "t"); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%+v becomes %+v, %v", before, after, err)
		}
	})
}
