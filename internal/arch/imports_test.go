// Package house holds the rules of the house that a machine can keep: which room may import which, that every package
// says what it is, and how a file looks. It is all tests.
package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "meridian/"

// mayImport is the table of rooms: what each may import of ours, its own packages aside. A name with "/..." stands for
// all packages under it. The packages of a room know each other, except under format, where each stands alone.
var mayImport = map[string][]string{
	"clock":             {},
	"trace":             {"clock"},
	"format":            {"format/...", "trace", "clock"},
	"format/*":          {"format/internal/...", "trace", "clock"},
	"sensor":            {"sensor/ring", "clock"},
	"sensor/ring":       {},
	"sensor/sensorhttp": {"sensor"},
	"sensor/sensorgrpc": {"sensor"},
	"examples":          {"..."},
	"record":            {"record/tracefs", "sensor/ring", "format/...", "trace", "clock"},
	"record/tracefs":    {"record/kernel", "kernel", "trace", "clock"},
	"kernel":            {"trace", "clock"},
	"match":             {"trace"},
	"align":             {"clock", "trace"},
	"probe":             {"clock", "trace"},
	"order":             {"clock", "trace"},
	"filter":            {"trace"},
	"collect":           {"record", "probe", "order", "format/...", "trace", "clock"},
	"experiment":        {"collect"},
	"show":              {"show/index", "trace", "clock", "filter", "format/..."},
	"show/index":        {"trace", "clock"},
	"show/view":         {"show", "show/index", "trace", "clock"},
	"sim":               {"trace", "clock"},
	"demo":              {"pipeline", "show", "format/...", "sim", "trace", "clock"},
	"pipeline":          {"match", "align/...", "order", "filter", "kernel", "show/...", "sim", "format/...", "trace", "clock"},
	"cmd":               {"..."},
	"internal":          {"..."}, // tools of the house: generators, laboratories, measurements
}

// row returns the line of the table for a package: the one of its own name, of its parent with a star, or of its room.
func row(pkg string) (name string, ok bool) {
	room, _, nested := strings.Cut(pkg, "/")
	if nested && mayImport[room+"/*"] != nil {
		return room + "/*", true
	}
	if mayImport[pkg] != nil {
		return pkg, true
	}
	return room, mayImport[room] != nil
}

// allowed says whether one package may import another, and why not.
func allowed(from, to string) error {
	name, ok := row(from)
	if !ok {
		return errors.New("has no row in the table of rooms")
	}
	if to == "internal" || strings.HasPrefix(to, "internal/") {
		if !strings.HasPrefix(from, "internal/") {
			return errors.New("the tools of the house are for tests alone")
		}
		return nil
	}
	if strings.HasPrefix(to, "cmd/") {
		return errors.New("commands are imported by nobody")
	}
	for _, target := range mayImport[name] {
		if under, all := strings.CutSuffix(target, "..."); all {
			if strings.HasPrefix(to+"/", under) {
				return nil
			}
		} else if to == target {
			return nil
		}
	}
	// A room's own packages; where each stands alone, only those inside the package itself.
	home, _, _ := strings.Cut(from, "/")
	if strings.HasSuffix(name, "/*") {
		home = from
	}
	if strings.HasPrefix(to+"/", home+"/") && mayImport[to] == nil {
		return nil
	}
	return errors.New("not in the table of rooms")
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir, Doc string
	Imports, GoFiles     []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles", module+"...").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v: %s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if _, ok := row(from); !ok {
			t.Errorf("%s has no row in the table of rooms", from)
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if err := allowed(from, to); err != nil {
				t.Errorf("%s imports %s: %v", from, to, err)
			}
		}
	}
}

func TestTableRefusesWhatItShould(t *testing.T) {
	for _, test := range []struct {
		from, to string
		good     bool
	}{
		{"trace", "clock", true},
		{"clock", "trace", false},
		{"align", "align/pair", true},
		{"align/network", "align/pair", true},
		{"align/pair", "trace", true},
		{"align/pair", "match", false},
		{"match", "order", false},
		{"match", "clock", false},
		{"format", "format/pcap", true},
		{"format/pcap", "format", false},
		{"format/pcap", "format/messages", false},
		{"format/pcap", "format/internal/stream", true},
		{"format/ctf", "format/ctf/packet", true},
		{"sensor", "sensor/ring", true},
		{"sensor/ring", "clock", false},
		{"sensor/ring", "sensor", false},
		{"sensor/sensorhttp", "sensor", true},
		{"sensor/sensorgrpc", "sensor/ring", false},
		{"sensor", "sensor/sensorhttp", false},
		{"examples/rpc", "pipeline", true},
		{"pipeline", "examples/rpc", false},
		{"show", "format/pcap", true},
		{"show", "match", false},
		{"show/index", "show", false},
		{"show/view", "show", true},
		{"pipeline", "align/quality", true},
		{"pipeline", "cmd/meridian", false},
		{"pipeline", "sensor", false},
		{"align", "internal/netlab", false},
		{"internal/netlab", "sim", true},
		{"cmd/meridian", "sensor", true},
		{"somewhere", "clock", false},
	} {
		if err := allowed(test.from, test.to); (err == nil) != test.good {
			t.Errorf("%s importing %s: %v", test.from, test.to, err)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func TestEveryRowOfTheTableNamesKnownRooms(t *testing.T) {
	for name, targets := range mayImport {
		if targets == nil {
			t.Errorf("row %s is nil", name)
		}
		for _, target := range targets {
			target = strings.TrimSuffix(strings.TrimSuffix(target, "..."), "/")
			room, _, _ := strings.Cut(target, "/")
			if target != "" && mayImport[room] == nil {
				t.Errorf("row %s names %s, which has no row", name, target)
			}
		}
		if slices.Contains(targets, name) {
			t.Errorf("row %s names itself", name)
		}
	}
}
