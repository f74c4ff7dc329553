package ctf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fileName returns a name for a file that says what name says, whatever that is: letters, digits, and a few signs of
// ASCII, no dot first or last, not long, and no name that a file system reserves; distinct from those taken, also
// where case does not count.
func fileName(name, empty string, taken map[string]bool) string {
	const most = 80
	b := make([]byte, 0, most)
	for _, r := range name {
		if len(b) == most {
			break
		}
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.':
			b = append(b, byte(r))
		default:
			b = append(b, '_')
		}
	}
	s := strings.Trim(string(b), ".")
	if s == "" {
		s = empty
	}
	if stem, _, _ := strings.Cut(strings.ToLower(s), "."); reservedNames[stem] {
		s = "_" + s
	}
	for n := 1; ; n++ {
		candidate := s
		if n > 1 {
			candidate = fmt.Sprintf("%s_%d", s, n)
		}
		if lower := strings.ToLower(candidate); !taken[lower] {
			taken[lower] = true
			return candidate
		}
	}
}

// reservedNames mean something to readers of traces, or are devices on some systems.
var reservedNames = func() map[string]bool {
	names := map[string]bool{"metadata": true, "index": true}
	for _, s := range strings.Fields("con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9") {
		names[s] = true
	}
	return names
}()

// checkTarget returns why a trace cannot be written to dir, nil if it can.
func checkTarget(dir string, replace bool) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s exists and is not a directory", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if !replace {
		return fmt.Errorf("%s already exists: choose another name or remove it", dir)
	}
	for _, e := range entries {
		if !e.IsDir() || !isTrace(filepath.Join(dir, e.Name())) {
			return fmt.Errorf("%s already exists and holds files other than traces of Meridian (%s): choose another name or remove it", dir, e.Name())
		}
	}
	return nil
}

// isTrace reports whether a directory holds a trace that a Writer wrote.
func isTrace(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "metadata"))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<20)
	n, _ := f.Read(head)
	return bytes.HasPrefix(head[:n], []byte("/* CTF 1.8 */")) && bytes.Contains(head[:n], []byte(tracerLine))
}

// tracerLine identifies the metadata of a Writer's traces.
const tracerLine = "\ttracer_name = \"meridian\";\n"

// makeSibling makes a directory next to dir for the trace until it is complete.
func makeSibling(dir string) (string, error) {
	for n := 1; ; n++ {
		name := dir + ".partial"
		if n > 1 {
			name = fmt.Sprintf("%s%d", name, n)
		}
		err := os.Mkdir(name, 0o777)
		if err == nil || !errors.Is(err, fs.ErrExist) || n == 1000 {
			return name, err
		}
	}
}

// publish moves a complete directory to its final path. An old one is moved aside first and removed last, so that at no moment
// there is neither.
func publish(partial, dir string, replace bool) error {
	if err := checkTarget(dir, replace); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		if err == nil { // empty; not every system renames onto it
			if err := os.Remove(dir); err != nil {
				return err
			}
		}
		return os.Rename(partial, dir)
	}
	old, err := makeSibling(dir)
	if err != nil {
		return err
	}
	aside := filepath.Join(old, "replaced")
	if err := os.Rename(dir, aside); err != nil {
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return errors.Join(err, os.Rename(aside, dir), os.Remove(old))
	}
	return os.RemoveAll(old)
}

// appendFile is a file that is open only while a packet is appended: a timeline may have more rows than a process may
// have files.
type appendFile struct{ path string }

func (a appendFile) Write(p []byte) (n int, err error) {
	f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return 0, err
	}
	n, err = f.Write(p)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return n, err
}
