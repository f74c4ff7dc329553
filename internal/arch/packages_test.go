package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the path of the main module; the paths of the others begin with it.
var module = modulePath(filepath.Join(top, "go.mod"))

func modulePath(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(path)
		}
	}
	panic(file + " names no module")
}

// top is the folder of the main module, from here.
const top = "../.."

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir, Doc string
	Imports, GoFiles     []string
	TestImports          []string
	XTestImports         []string
	Module               struct{ Path, Dir string }
}

// room returns the package's path without the module's.
func (p listed) room() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

var list = sync.OnceValues(func() ([]listed, error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles,TestImports,XTestImports,Module", "work").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = errors.New("go list: " + string(failed.Stderr))
		}
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// packages returns the packages of all modules of the workspace.
func packages(t *testing.T) []listed {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}
