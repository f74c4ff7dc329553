package ctf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/filetest"
	"meridian/trace"
)

func TestFileNamesAreHarmlessAndDistinct(t *testing.T) {
	taken := map[string]bool{}
	for _, c := range []struct{ name, want string }{
		{"nginx 1234", "nginx_1234"}, {"nginx_1234", "nginx_1234_2"}, {"NGINX_1234", "NGINX_1234_3"}, {"nginx/1234", "nginx_1234_4"},
		{"", "row"}, {"..", "row_2"}, {".", "row_3"}, {"../../etc/passwd", "_.._etc_passwd"}, {"/", "_"}, {"\x00", "__2"}, {".hidden", "hidden"}, {"a.", "a"},
		{"metadata", "_metadata"}, {"index", "_index"}, {"CON", "_CON"}, {"com1.txt", "_com1.txt"}, {"größe", "gr__e"}, {"C:\\x", "C__x"},
		{strings.Repeat("x", 300), strings.Repeat("x", 80)}, {strings.Repeat("x", 400), strings.Repeat("x", 80) + "_2"},
	} {
		got := fileName(c.name, "row", taken)
		if got != c.want {
			t.Errorf("%.40q: %q, not %q", c.name, got, c.want)
		}
		if filepath.Base(got) != got || got == "." || got == ".." {
			t.Errorf("%q is no name of a file", got)
		}
	}
}

func TestHostsOfAnyNameStayInsideTheDirectory(t *testing.T) {
	l := simple(trace.Stream{Name: "../../../escape", Parent: -1})
	l.schema.Hosts = []string{"..", "", "../up", "web", "web", "a\x00b"}
	for i := range l.schema.Hosts {
		l.add(clock.HostTime(i), 0, trace.OfUint(1))
		l.records[i].Host = i
	}
	parent := t.TempDir()
	l.write(t, filepath.Join(parent, "out"), WriterOptions{})
	sameLines(t, filetest.Names(t, filepath.Join(parent, "out")), []string{"_up", "a_b", "host", "host_2", "web", "web_2"})
	if all, _ := os.ReadDir(parent); len(all) != 1 {
		t.Errorf("%d entries beside it", len(all))
	}
	if got := babeltrace(t, filepath.Join(parent, "out")); len(got) != 6 {
		t.Errorf("%d events", len(got))
	}
}

func TestTheDirectoryAppearsWholeOrNotAtAll(t *testing.T) {
	l := simple(trace.Stream{Name: "r", Parent: -1})
	l.add(1, 0, trace.OfUint(1))
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	entries := func() []string { return filetest.Names(t, parent) }
	w, err := NewWriter(dir, l.schema, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&l.records[0]); err != nil {
		t.Fatal(err)
	}
	sameLines(t, entries(), []string{"out.partial"})
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	sameLines(t, entries(), nil)
	if err := w.Write(&l.records[0]); err == nil {
		t.Error("written after the end")
	}

	l.write(t, dir, WriterOptions{})
	sameLines(t, entries(), []string{"out"})
	if _, err := NewWriter(dir, l.schema, WriterOptions{}); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Error(err)
	}
	sameLines(t, entries(), []string{"out"})

	l.add(2, 0, trace.OfUint(2))
	l.write(t, dir, WriterOptions{Replace: true})
	sameLines(t, entries(), []string{"out"})
	if got := babeltrace(t, dir); len(got) != 2 {
		t.Errorf("%d events", len(got))
	}

	if err := os.WriteFile(filepath.Join(dir, "letter"), []byte("dear"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := NewWriter(dir, l.schema, WriterOptions{Replace: true}); err == nil || !strings.Contains(err.Error(), "letter") {
		t.Error(err)
	}
	sameLines(t, entries(), []string{"out"})
	if _, err := NewWriter(filepath.Join(dir, "letter"), l.schema, WriterOptions{Replace: true}); err == nil {
		t.Error("a file gave way")
	}
	if _, err := NewWriter(filepath.Join(parent, "none", "out"), l.schema, WriterOptions{}); err == nil {
		t.Error("no parent, no error")
	}
}

func TestATimelineWithoutRecordsHasItsHosts(t *testing.T) {
	l := simple(trace.Stream{Name: "r", Parent: -1})
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(dir, 0o777); err != nil { // empty: it may be there
		t.Fatal(err)
	}
	l.write(t, dir, WriterOptions{})
	if got := babeltrace(t, dir); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if !isTrace(filepath.Join(dir, "web")) {
		t.Error("no trace of the host")
	}
}
