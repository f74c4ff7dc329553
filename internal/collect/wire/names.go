package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names, bytes.
const (
	maxHost    = 128
	maxSession = 64
	maxElement = 200 // of a file's path
)

// Metadata is the file of a trace that is replaced as a whole; all others grow.
const Metadata = "metadata"

// Folder is the only directory within a trace.
const Folder = "packets"

// CheckHost refuses what is no name of a host: it becomes a directory.
func CheckHost(name string) error { return checkElement("host", name, maxHost) }

// ServerHost returns the name by which a server is a host of sessions: that of its machine may be an agent's.
func ServerHost(server string) string { return "server-" + server }

// CheckSession refuses what is no name of a session: it becomes a directory.
func CheckSession(name string) error { return checkElement("session", name, maxSession) }

// CheckTrace refuses what is no UUID of a trace, in small letters.
func CheckTrace(uuid string) error {
	good := len(uuid) == 36
	for i := 0; i < len(uuid) && good; i++ {
		c := uuid[i]
		dash := i == 8 || i == 13 || i == 18 || i == 23
		good = dash && c == '-' || !dash && ('0' <= c && c <= '9' || 'a' <= c && c <= 'f')
	}
	if !good {
		return fmt.Errorf("%.40q is no UUID of a trace", uuid)
	}
	return nil
}

// CheckFile refuses what is no file of a trace: "metadata", a stream, or one in [Folder].
func CheckFile(name string) error {
	element := name
	if folder, file, nested := strings.Cut(name, "/"); nested {
		if folder != Folder {
			return fmt.Errorf("file %q: it lies in %q, and a trace has no directory but %s", name, folder, Folder)
		}
		element = file
	}
	return checkElement("file", element, maxElement)
}

// List returns the names of a trace's files. readDir lists a directory.
func List(dir string, readDir func(dir string) ([]fs.DirEntry, error)) (names []string, err error) {
	for _, folder := range []string{"", Folder} {
		entries, err := readDir(filepath.Join(dir, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if name := path.Join(folder, e.Name()); e.Type().IsRegular() && CheckFile(name) == nil {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// checkElement refuses what is not a single, visible element of a path.
func checkElement(what, name string, most int) error {
	switch {
	case name == "":
		return fmt.Errorf("a %s without a name", what)
	case len(name) > most:
		return fmt.Errorf("the name of a %s has %d bytes, of which %d are permitted", what, len(name), most)
	case name[0] == '.':
		return fmt.Errorf("%s %q: a name must not begin with a dot", what, name)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s %q: a name must be UTF-8", what, name)
	}
	for _, r := range name {
		if r == '/' || r == '\\' || !unicode.IsPrint(r) {
			return fmt.Errorf("%s %q: a name must not contain %q", what, name, r)
		}
	}
	if path.Clean(name) != name {
		return fmt.Errorf("%s %q is no name", what, name)
	}
	return nil
}

// Token returns a name as one token of a NATS subject, in which dots, blanks and wildcards would have a meaning. Every other name has
// another token.
func Token(name string) string {
	plain := func(c byte) bool {
		return c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// Name returns the name of a token.
func Name(token string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			b.WriteByte(token[i])
			continue
		}
		if i+2 >= len(token) {
			return "", fmt.Errorf("token %q ends within an escape", token)
		}
		c, err := strconv.ParseUint(token[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("token %q: %q is no escape", token, token[i:i+3])
		}
		b.WriteByte(byte(c))
		i += 2
	}
	if Token(b.String()) != token { // else a host could have several
		return "", fmt.Errorf("token %q is not written as such", token)
	}
	return b.String(), nil
}
