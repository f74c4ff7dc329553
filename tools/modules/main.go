// Command modules keeps the modules of this repository in order.
//
//	modules tidy             go mod tidy for every module of the workspace
//	modules rename PATH      give the modules another path: PATH, PATH/clock, PATH/sensor and so on
//	modules -dir DIR ...     in another copy of the repository
//
// The modules require each other by versions that need not be published: go.work replaces them by folders, no go.mod
// does (go install refuses a module with a replace directive). So go mod tidy alone cannot work here.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	dir := flag.String("dir", ".", "a `folder` in the repository")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: modules [-dir DIR] tidy | rename PATH\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	var run func(workspace) error
	switch {
	case flag.NArg() == 1 && flag.Arg(0) == "tidy":
		run = workspace.tidy
	case flag.NArg() == 2 && flag.Arg(0) == "rename":
		run = func(w workspace) error { return w.rename(flag.Arg(1)) }
	default:
		flag.Usage()
		os.Exit(2)
	}
	w, err := open(*dir)
	if err == nil {
		err = run(w)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

// workspace is what go.work joins.
type workspace struct {
	top     string // folder of go.work
	modules []module
}

// module is one module of the workspace. Folder is relative to the top.
type module struct{ path, folder string }

// open finds the workspace that a folder belongs to.
func open(dir string) (workspace, error) {
	out, err := command(dir, nil, "go", "env", "GOWORK")
	if err != nil {
		return workspace{}, err
	}
	file := strings.TrimSpace(string(out))
	if !filepath.IsAbs(file) {
		return workspace{}, errors.New("no workspace here: go.work is missing or GOWORK=off is set")
	}
	w := workspace{top: filepath.Dir(file)}
	if out, err = command(w.top, nil, "go", "work", "edit", "-json"); err != nil {
		return workspace{}, err
	}
	var work struct {
		Use []struct{ DiskPath string }
	}
	if err := json.Unmarshal(out, &work); err != nil {
		return workspace{}, fmt.Errorf("go work edit -json: %w", err)
	}
	for _, use := range work.Use {
		m := module{folder: filepath.Clean(use.DiskPath)}
		if m.path, err = modulePath(filepath.Join(w.top, m.folder, "go.mod")); err != nil {
			return workspace{}, err
		}
		w.modules = append(w.modules, m)
	}
	return w, nil
}

// modulePath returns the path that a go.mod declares.
func modulePath(file string) (string, error) {
	out, err := command("", nil, "go", "mod", "edit", "-json", file)
	if err != nil {
		return "", err
	}
	var mod struct{ Module struct{ Path string } }
	if err := json.Unmarshal(out, &mod); err != nil {
		return "", fmt.Errorf("go mod edit -json %s: %w", file, err)
	}
	return mod.Module.Path, nil
}

// root returns the path of the module at the top, with which those of all others begin.
func (w workspace) root() (string, error) {
	for _, m := range w.modules {
		if m.folder == "." {
			return m.path, nil
		}
	}
	return "", errors.New("go.work does not use the folder it stands in")
}

// command runs a command in a folder, with variables added to the environment, and returns its standard output.
func command(dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, failed.Stderr)
	}
	return out, err
}
