package arch

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outside is a Go module that somebody has, in a directory of its own.
type outside struct {
	t   *testing.T
	dir string
}

// newOutside makes a module of one program, with a go.mod and the hashes of what it requires.
func newOutside(t *testing.T, goMod, goSum, program string) *outside {
	t.Helper()
	o := &outside{t, t.TempDir()}
	for name, text := range map[string]string{"go.mod": goMod, "go.sum": goSum, "main.go": program} {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// run runs lines of a shell in the module, with nothing of the workspace here, and returns what they print.
func (o *outside) run(lines string) string {
	o.t.Helper()
	c := exec.Command("sh", "-e", "-c", lines)
	c.Dir = o.dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local")
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if said := problems.String(); err != nil {
		if os.Getenv("MERIDIAN_CI") != "1" && (strings.Contains(said, "dial tcp") || strings.Contains(said, "module lookup disabled")) {
			o.t.Skip("a module is not in the cache, and the Go proxy is not reachable: ", said)
		}
		o.t.Fatalf("%s: %v\n%s%s", lines, err, out, said)
	}
	return string(out)
}

// goMod is what go.mod says, of which importing may change Require alone.
type goMod struct {
	Module    any
	Go        string
	Toolchain string
	Require   []struct{ Path, Version string }
	Exclude   any
	Retract   any
	Tool      any
}

func (o *outside) goMod() (m goMod, required map[string]string) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.run("go mod edit -json")), &m); err != nil {
		o.t.Fatal(err)
	}
	required = map[string]string{}
	for _, r := range m.Require {
		required[r.Path] = r.Version
	}
	m.Require = nil
	return m, required
}

// modules returns the module graph: versions by path, without the module itself.
func (o *outside) modules() map[string]string {
	o.t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(o.run(`go list -mod=mod -m -f '{{if not .Main}}{{.Path}} {{.Version}}{{end}}' all`)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[path] = version
		}
	}
	return all
}

// importing returns the commands of docs/sensors.md that make a module of this checkout known, with its path in them: the
// first indented block behind the heading, and the second.
func importing(t *testing.T) (sensors, grpc string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "docs", "sensors.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Importing\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	within := false
	for line := range strings.Lines(section) {
		code, indented := strings.CutPrefix(line, "    ")
		if indented && !within {
			blocks = append(blocks, "")
		}
		if within = indented; indented {
			blocks[len(blocks)-1] += code
		}
	}
	if !ok || len(blocks) != 2 || strings.Count(blocks[0], "\n") != 3 {
		t.Fatalf("docs/sensors.md has no section Importing of three lines and more for gRPC: %q", blocks)
	}
	readme, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if _, lines, _ := strings.Cut(blocks[0], "\n"); !strings.Contains(string(readme), "\n"+lines) { // without the first: there the page says what $SRC is
		t.Errorf("README.md has not the lines of docs/sensors.md:\n%s", lines)
	}
	checkout, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	sensors = strings.Replace(blocks[0], "SRC=/path/to/meridian\n", "SRC='"+checkout+"'\n", 1)
	if sensors == blocks[0] {
		t.Fatalf("the first line is not SRC=/path/to/meridian but %q", blocks[0])
	}
	return sensors, sensors + blocks[1]
}

// recording is a file of a program that records itself before main.
const recording = `package main

import (
	"log"

	"meridian/sensor"
)

var started = sensor.NewEvent1[string]("shop", "started", "by")

func init() {
	stop, err := sensor.Record("trace", sensor.Options{Dir: "."})
	if err != nil {
		log.Fatal(err)
	}
	started.Emit("test")
	if err := stop(); err != nil {
		log.Fatal(err)
	}
}
`

// generating is a file whose struct gets a method Emit by go generate, with what calls it.
const generating = `package main

//go:generate go run meridian/sensor/cmd/meridian-sensorgen -type request

type request struct{ ID int }

func init() { (&request{1}).Emit() }
`

// oldProgram has a gRPC and a go line from before those that Meridian itself uses.
const (
	oldModule  = "module example.com/shop\n\ngo 1.24.0\n\nrequire google.golang.org/grpc v1.75.0\n"
	oldProgram = "package main\n\nimport _ \"google.golang.org/grpc\"\n\nfunc main() {}\n"
)

// old makes that module. The hashes are those of sensorgrpc, which asks for the same version.
func old(t *testing.T) *outside {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(top, "sensor", "sensorgrpc", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	o := newOutside(t, oldModule, string(sums), oldProgram)
	o.run("go mod tidy")
	return o
}

const xsys = "golang.org/x/sys"

var ours = module + "/"

// TestImportingTheSensorsChangesNothingElse runs the lines of docs/sensors.md in a module outside.
func TestImportingTheSensorsChangesNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: builds three programs")
	}
	sensors, grpc := importing(t)
	for name, test := range map[string]struct {
		module func(t *testing.T) *outside
		lines  string
		add    []string
	}{
		"a module that requires nothing": {func(t *testing.T) *outside {
			return newOutside(t, "module example.com/shop\n\ngo 1.24.0\n", "", "package main\n\nfunc main() {}\n")
		}, sensors, []string{xsys, ours + "clock", ours + "sensor"}},
		"a module with an old gRPC":                 {old, sensors, []string{ours + "clock", ours + "sensor"}},
		"a module with an old gRPC, and sensorgrpc": {old, grpc, []string{ours + "clock", ours + "sensor", ours + "sensor/sensorgrpc"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.module(t)
			before := o.modules()
			fileBefore, requiredBefore := o.goMod()
			o.run(test.lines)
			for name, text := range map[string]string{"recording.go": recording, "generating.go": generating} {
				if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			o.run("GOFLAGS=-trimpath go generate .\ngo run -trimpath .")
			if _, err := os.Stat(filepath.Join(o.dir, "trace", "metadata")); err != nil {
				t.Error(err)
			}
			fileAfter, requiredAfter := o.goMod()
			if a, b := asJSON(t, fileBefore), asJSON(t, fileAfter); a != b {
				t.Errorf("go.mod says %s, and said %s", b, a)
			}
			compare(t, "go.mod", requiredBefore, requiredAfter, test.add)
			compare(t, "the module graph", before, o.modules(), test.add)
		})
	}
}

// compare fails where versions were changed or removed, or others were added than expected.
func compare(t *testing.T, where string, before, after map[string]string, add []string) {
	t.Helper()
	for path, version := range before {
		if after[path] != version {
			t.Errorf("%s: %s was %s and is %q", where, path, version, after[path])
		}
		delete(after, path)
	}
	if got := slices.Sorted(maps.Keys(after)); !slices.Equal(got, add) {
		t.Errorf("%s: %v was added, want %v", where, got, add)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
