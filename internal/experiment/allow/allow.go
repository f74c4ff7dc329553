// Package allow reads what the owner of a host permits experiments to run there: the list of 'meridian agent --allow-run FILE'. Everything
// that the list does not name is refused.
//
//	# comment
//	use pipeline               a standard daemon; "use *" stands for all
//	run /usr/bin/iperf3        a program, with any arguments
//	run /usr/bin/sleep 10      a program, with exactly these arguments
//	env LANG                   a variable of the environment that experiments may set
//	shell                      texts for sh -c: with it experiments do whatever the agent's user may do
//
// Words are separated by blanks; a word in double quotes is a string of Go. A program is an absolute path. What an experiment names is
// looked up in the agent's PATH and compared as a path: a link to a program that is permitted, or a copy of it, is another program.
package allow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxList bounds what is read of a list, bytes.
const maxList = 1 << 20

// List is what is permitted. The zero List permits nothing.
type List struct {
	name  string // of the file, for messages
	use   []string
	run   [][]string // programs, each with its arguments; one alone is permitted with any
	env   []string
	shell bool
}

// Any stands for all standard daemons.
const Any = "*"

// Read reads a list from a file.
func Read(path string) (*List, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxList+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse reads a list. An error names the line.
func Parse(name string, text []byte) (*List, error) {
	if len(text) > maxList {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxList)
	}
	l := &List{name: name}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		words, err := split(string(line))
		if err == nil && len(words) > 0 {
			err = l.add(words[0], words[1:])
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return l, nil
}

// split returns the words of a line.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		end := strings.IndexAny(line, " \t\r\n")
		if end < 0 {
			end = len(line)
		}
		word := line[:end]
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("%.40q: want a closing quotation mark", line)
			}
			if end = len(quoted); end < len(line) && !strings.ContainsRune(" \t\r\n", rune(line[end])) {
				return nil, fmt.Errorf("%.40q: want a blank behind the quotation mark", line)
			}
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		}
		words, line = append(words, word), line[end:]
	}
}

func (l *List) add(key string, words []string) error {
	switch {
	case key == "shell" && len(words) == 0:
		l.shell = true
	case key == "shell":
		return errors.New("shell: want nothing behind it")
	case key == "run" && len(words) > 0:
		if !filepath.IsAbs(words[0]) {
			return fmt.Errorf("run %s: want the absolute path of a program", words[0])
		}
		l.run = append(l.run, append([]string{filepath.Clean(words[0])}, words[1:]...))
	case key == "use" && len(words) == 1:
		l.use = append(l.use, words[0])
	case key == "env" && len(words) == 1:
		if strings.HasPrefix(words[0], own) || strings.ContainsAny(words[0], "=\x00") {
			return fmt.Errorf("env %s: want the name of a variable that is not one of %s itself", words[0], own)
		}
		l.env = append(l.env, words[0])
	case key == "run" || key == "use" || key == "env":
		return fmt.Errorf("%s: want one name, found %d", key, len(words))
	default:
		return fmt.Errorf("%q: want use NAME, run PATH [ARG]..., env NAME or shell", key)
	}
	return nil
}

// own begins the names of our variables.
const own = "MERIDIAN"

// Uses returns the standard daemons that are permitted.
func (l *List) Uses() []string { return l.use }

// Program is what an experiment wants to run.
type Program struct {
	Standard string   // a standard daemon, or
	Path     string   // of the program as it was found, absolute
	Args     []string // with the program's name
	Env      map[string]string
}

// Check refuses what is not permitted. The error says what the list lacks.
func (l *List) Check(p *Program) error {
	for name := range p.Env {
		if !slices.Contains(l.env, name) {
			return l.refuse("the variable %s: it lacks %q", name, "env "+name)
		}
	}
	if p.Standard != "" {
		if !slices.Contains(l.use, p.Standard) && !slices.Contains(l.use, Any) {
			return l.refuse("the standard daemon %s: it lacks %q", p.Standard, "use "+p.Standard)
		}
		return nil
	}
	if len(p.Args) == 3 && p.Args[0] == "sh" && p.Args[1] == "-c" && l.shell {
		return nil
	}
	if !filepath.IsAbs(p.Path) {
		return l.refuse("the program %q: its path is not absolute", p.Path)
	}
	path := filepath.Clean(p.Path)
	for _, r := range l.run {
		if r[0] == path && (len(r) == 1 || slices.Equal(r[1:], p.Args[1:])) {
			return nil
		}
	}
	if len(p.Args) == 3 && p.Args[0] == "sh" && p.Args[1] == "-c" {
		return l.refuse("texts for the shell: it lacks %q", "shell")
	}
	return l.refuse("the program %s with %q: it lacks %q", path, p.Args[1:], "run "+path)
}

func (l *List) refuse(format string, args ...any) error {
	return fmt.Errorf("the agent's list %s does not permit %s", filepath.Base(l.name), fmt.Sprintf(format, args...))
}
