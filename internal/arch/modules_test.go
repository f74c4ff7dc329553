package arch

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayRequire lists, for the modules that must stay light, what their packages may import besides the standard library
// and their own packages. That includes their test files: go mod tidy of whoever imports a package asks for what the
// tests of that package need, and writes it into that module's go.mod.
var mayRequire = map[string][]string{
	module + "/clock":             {"golang.org/x/sys", "pgregory.net/rapid"}, // rapid in tests
	module + "/sensor":            {"golang.org/x/sys", module + "/clock"},
	module + "/sensor/sensorgrpc": {"google.golang.org/grpc", "google.golang.org/protobuf", module + "/sensor"},
}

func TestLightModulesImportLittle(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range packages(t) {
		may, light := mayRequire[p.Module.Path]
		if !light {
			continue
		}
		seen[p.Module.Path] = true
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			first, _, _ := strings.Cut(path, "/")
			standard := !strings.Contains(first, ".") && first != module
			if !standard && !within(path, p.Module.Path) && !withinAny(path, may) {
				t.Errorf("%s imports %s: module %s may import only %v", p.ImportPath, path, p.Module.Path, may)
			}
		}
	}
	for path := range mayRequire {
		if !seen[path] {
			t.Errorf("module %s has no packages", path)
		}
	}
}

// moduleFile is what go mod edit -json and go work edit -json print.
type moduleFile struct {
	Module  struct{ Path string }
	Replace []struct {
		Old struct{ Path, Version string }
	}
	Use []struct{ DiskPath string }
}

func readModuleFile(t *testing.T, kind, path string) (m moduleFile) {
	t.Helper()
	out, err := exec.Command("go", kind, "edit", "-json", path).Output()
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err != nil {
		t.Fatalf("go %s edit -json %s: %v", kind, path, err)
	}
	return m
}

// TestModulesAreInstallable: "go install module/cmd@version" refuses a module with replace directives, and a module
// that go.work does not name is neither built nor tested.
func TestModulesAreInstallable(t *testing.T) {
	var used []string
	for _, use := range readModuleFile(t, "work", filepath.Join(top, "go.work")).Use {
		used = append(used, filepath.Clean(use.DiskPath))
	}
	found := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return fs.SkipDir
		case d.Name() != "go.mod":
			return nil
		}
		found++
		folder, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		m := readModuleFile(t, "mod", path)
		if want := strings.TrimSuffix(module+"/"+filepath.ToSlash(folder), "/."); m.Module.Path != want {
			t.Errorf("%s names the module %s, want %s", path, m.Module.Path, want)
		}
		if len(m.Replace) > 0 {
			t.Errorf("%s replaces %s: put it into go.work", path, m.Replace[0].Old.Path)
		}
		if !slices.Contains(used, folder) {
			t.Errorf("go.work does not use %s", folder)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found != len(used) {
		t.Errorf("%d modules found, go.work uses %d", found, len(used))
	}
}
