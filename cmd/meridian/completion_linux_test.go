package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"meridian/internal/testneed"
)

// completing are shells with what they read at their start. Their completions lie where they look for those of packages or users.
var completing = map[string]struct {
	program    string
	arguments  []string
	rc, setup  string // a file below the home directory
	completion string // likewise
}{
	"bash": {"bash", []string{"--rcfile", ".bashrc", "-i"}, ".bashrc", ". /usr/share/bash-completion/bash_completion\nPS1='READY> '\n", ".local/share/bash-completion/completions/meridian"},
	"zsh":  {"zsh", []string{"-d", "-i"}, ".zshrc", "fpath=(~/functions $fpath)\nautoload -U compinit\ncompinit -u -D\nPS1='READY> '\n", "functions/_meridian"},
	"fish": {"fish", []string{"-i"}, ".config/fish/config.fish", "function fish_prompt; echo -n 'READY> '; end\n", ".config/fish/completions/meridian.fish"},
}

// typed is what somebody types, and the arguments that the command then gets.
var typed = []struct{ keys, arguments string }{
	{"meridian ali\t", "align"},
	{"meridian clock wat\t", "clock watch"},
	{"meridian align --ref\tweb", "align --reference web"},
	{"meridian convert some_fi\t", "convert some_file.pcap"},
	{"meridian convert x -o some_fi\t", "convert x -o some_file.pcap"},
	{"meridian record --kernel sched -o some_d\t", "record --kernel sched -o some_dir"},
}

// recordsArguments stands before the command on PATH: it writes what the shell starts into a file. The shells' questions go to the command.
const recordsArguments = `#!/bin/sh
case $1 in __complete*) exec "$MERIDIAN" "$@" ;; esac
echo "$*" >"$HOME/ran.new"
mv "$HOME/ran.new" "$HOME/ran"
`

// Shells complete subcommands, flags and names of files, as their users see it: keys go to a real shell on a terminal.
func TestShellsComplete(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil {
		testneed.Long(t, "needs bash-completion")
		testneed.Missing(t, "bash-completion is not installed (apt-get install bash-completion)")
	}
	for name, shell := range completing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := testneed.Program(t, shell.program)
			command, err := exec.LookPath("meridian")
			if err != nil {
				t.Fatal(err)
			}
			script, err := exec.Command(command, "completion", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			for file, content := range map[string]string{shell.rc: shell.setup, shell.completion: string(script), "bin/meridian": recordsArguments, "some_file.pcap": "", "some_dir/x": "",
				// Without it fish makes completions of all manual pages of the machine.
				".local/share/fish/generated_completions/none": ""} {
				path := filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.Command(program, shell.arguments...)
			c.Dir = home
			c.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin", "TERM=xterm", "LC_ALL=C.UTF-8", "MERIDIAN=" + command}
			tty := onTerminal(t, c)
			typeAll(t, tty, filepath.Join(home, "ran"))
		})
	}
}

// typeAll types into a shell, line by line, and compares what it has started.
func typeAll(t *testing.T, tty *shellTerminal, ran string) {
	await := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s does not come:\n%q", what, tty.text())
			}
		}
	}
	for i, line := range typed {
		await("a prompt", func() bool { return strings.Count(tty.text(), "READY> ") > i })
		if _, err := tty.terminal.WriteString(line.keys); err != nil {
			t.Fatal(err)
		}
		if _, err := tty.terminal.WriteString("\r"); err != nil {
			t.Fatal(err)
		}
		var got []byte
		await("the command", func() bool {
			b, err := os.ReadFile(ran)
			got = b
			return err == nil
		})
		if err := os.Remove(ran); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(strings.TrimSpace(string(got)), "/"); got != line.arguments { // zsh takes a slash at the end away
			t.Errorf("%q starts %q, want %q", line.keys, got, line.arguments)
		}
	}
}

// shellTerminal is the terminal of a process, with all that was written to it.
type shellTerminal struct {
	terminal *os.File
	lock     sync.Mutex
	shown    bytes.Buffer
}

func (s *shellTerminal) Write(b []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.shown.Write(b)
}

func (s *shellTerminal) text() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.shown.String()
}

// onTerminal starts a command on a terminal of its own, until the test ends.
func onTerminal(t *testing.T, c *exec.Cmd) *shellTerminal {
	master, slave := terminal(t)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	s, read := &shellTerminal{terminal: master}, make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(s, master) // ends with an error when the shell has
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed
		<-read
	})
	return s
}
