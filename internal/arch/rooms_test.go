package arch

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// mayImport is the table of rooms: the packages of this project that each may import besides its own. "x/..." stands for
// x and all packages under it, "..." alone for all rooms except those of onlyCommands. A row "x/*" applies to each
// package under x separately: such packages do not import each other. Test files are free to import what they need.
var mayImport = map[string][]string{
	// Public: others may import these.
	"clock":             {},
	"trace":             {"clock"},
	"match":             {"trace", "clock"},
	"align":             {"trace", "clock"},
	"order":             {"trace", "clock"},
	"format":            {"format/...", "trace", "clock"},
	"format/*":          {"format/internal/...", "trace", "clock"},
	"format/ctf":        {"format/internal/...", "sensor/tsdl", "trace", "clock"},
	"format/shm":        {"format/internal/...", "sensor/ring", "trace", "clock"},
	"sensor":            {"sensor/ring", "sensor/tsdl", "clock"},
	"sensor/ring":       {"sensor/tsdl", "clock"},
	"sensor/tsdl":       {},
	"sensor/c":          {},
	"sensor/sensorhttp": {"sensor"},
	"sensor/sensorgrpc": {"sensor"},
	"sensor/cmd":        {}, // of the standard library alone: "go run" in a user's module builds it

	// What only our commands need.
	"internal/dirlock":          {},
	"internal/scratch":          {"internal/dirlock"}, // a run's temporary files
	"internal/spill":            {"internal/scratch"}, // what does not fit in memory
	"internal/redact":           {"trace"},
	"internal/private":          {}, // who may read what is written
	"internal/s3":               {},
	"internal/probe":            {"internal/realtime", "internal/steering", "clock"},
	"internal/synchroniser":     {"internal/probe", "align/online", "clock", "align/bound", "trace"},
	"internal/probe/probetrace": {"internal/probe", "internal/record", "sensor/ring", "trace"},
	"internal/probe/planned":    {"internal/probe", "internal/probe/probetrace", "internal/synchroniser", "internal/record"},
	"internal/collect":          {"internal/live/watch", "internal/dirlock", "internal/retention", "internal/spool"},
	"internal/collect/archive":  {"internal/collect/store", "internal/collect/wire", "internal/s3"},
	"internal/collect/captures": {"internal/collect/tunnel", "internal/collect/wire", "internal/reduced", "format/pcap", "trace"}, // captures that stay at agents
	"internal/collect/excerpt":  {"internal/collect/wire", "internal/retention", "format/ctf", "trace"},                           // packets by their times, and what was dropped as an event
	"internal/collect/ondemand": {"internal/collect/excerpt", "internal/collect/ship", "internal/collect/standby", "internal/collect/wire"},
	"internal/collect/publish":  {"internal/collect/wire", "internal/live", "internal/filter", "order", "format/ctf", "format/jsonl", "trace", "clock"},
	"internal/collect/tunnel":   {"internal/collect/wire"},
	"internal/realtime":         {"clock"},
	"internal/reduced":          {"trace", "clock"}, // captures as bytes, between agents and the one who aligns
	"internal/record":           {"internal/private", "internal/dirlock", "internal/realtime", "internal/record/tracefs", "internal/steering", "internal/retention", "internal/spool", "internal/filter", "sensor/ring", "sensor/tsdl", "format/...", "trace", "clock"},
	"internal/record/tracefs":   {"internal/record/kernel", "internal/record/internal/...", "internal/kernel", "trace", "clock"},
	"internal/cause":            {"internal/plainhttp"}, // names of requests, as packets have them
	"internal/plainhttp":        {},
	"internal/kernel":           {"trace", "clock"},
	"internal/steering":         {"trace", "clock"},
	"internal/retention":        {"format/ctf", "trace"},
	"internal/spool":            {},
	"internal/filter":           {"trace", "clock"},
	"internal/show":             {"internal/show/index", "internal/filter", "format/...", "trace", "clock"},
	"internal/show/index":       {"internal/dirlock", "trace", "clock"},
	"internal/compare":          {},                                                                                                                                            // whether durations of two runs differ
	"internal/show/view":        {"internal/show", "internal/show/index", "internal/cause/...", "internal/compare", "internal/kernel", "internal/plainhttp", "trace", "clock"}, // the kernel's packets
	"internal/sim":              {"trace", "clock"},
	"internal/demo":             {"internal/pipeline", "internal/pipeline/input", "internal/show", "internal/sim", "format/...", "trace", "clock"},
	"internal/pipeline": {"internal/redact", "internal/yamltext", "internal/pipeline/...", "internal/filter", "internal/plainhttp", "internal/show/...", "internal/steering",
		"match", "align/...", "order", "order/logical", "format/...", "trace", "clock"},
	"internal/live": {"internal/live/watch", "internal/steering", "internal/retention", "internal/pipeline/input", "internal/pipeline/usage", "internal/pipeline/source", "internal/kernel", "internal/filter", "internal/show/...", "match", "align/...", "order",
		"format/...", "trace", "clock"},
	"internal/live/watch": {},
	// What a file of an experiment says is checked with the pairs of the filter; what is said on the wire knows nothing of either.
	"internal/experiment/protocol": {"sensor/daemon"}, // instants of starts
	"internal/experiment/file":     {"internal/experiment/protocol", "internal/filter", "internal/yamltext"},
	"internal/experiment/keeper":   {},
	// A host emits when phases begin and end, so the recorder has them.
	"internal/experiment/host": {"internal/private", "internal/experiment/allow", "internal/experiment/keeper", "internal/experiment/protocol", "sensor"},
	// Hosts of an experiment may be behind the agents of a server. What a keeper left that was killed at its start, the place removes.
	"internal/experiment/place":    {"internal/experiment/file", "internal/experiment/keeper", "internal/experiment/protocol", "internal/experiment/traffic", "internal/collect/tunnel", "internal/collect/wire"},
	"internal/experiment/remote":   {"internal/collect/tunnel"},
	"internal/experiment/allow":    {},
	"internal/experiment/schedule": {"internal/experiment/file", "internal/experiment/place", "internal/experiment/protocol"},
	// What became of a run: its timeline is the pipeline's.
	"internal/experiment/verdict": {"internal/private", "internal/compare", "internal/experiment/file", "internal/experiment/protocol", "internal/experiment/schedule",
		"internal/filter", "internal/pipeline", "internal/pipeline/input", "internal/show"},
	"internal/experiment/traffic": {},
	"internal/experiment/daemons": {"internal/experiment/protocol", "internal/experiment/traffic", "internal/probe/planned", "sensor", "sensor/daemon", "clock"},
	"internal/pipeline/evaluate":  {"internal/pipeline/...", "internal/show", "internal/sim", "align/...", "trace", "clock"},
	"internal/pipeline/input":     {"internal/scratch", "internal/pipeline/usage", "internal/kernel", "internal/steering", "internal/retention", "order", "format/...", "trace", "clock"},
	"internal/pipeline/output":    {"internal/private"}, // modes of files that are renamed
	"internal/pipeline/simulate":  {"internal/pipeline/usage", "internal/pipeline/output", "internal/sim", "format/...", "trace", "clock"},
	"internal/pipeline/source":    {"trace", "clock"},
	"internal/pipeline/spans":     {"clock"},
	"internal/pipeline/usage":     {},
	"internal/yamltext":           {},

	// What only tests and tools need.
	"internal/arch":           {},
	"internal/corpus":         {},
	"internal/encapsulation":  {},
	"internal/load":           {"trace", "clock"},
	"internal/livetest":       {"align", "align/live", "internal/sim", "trace", "clock"},
	"internal/lttng":          {"format/ctf", "sensor/tsdl", "trace", "clock"},
	"internal/netlab":         {"internal/sim", "internal/testneed", "clock"},
	"internal/testneed":       {},
	"internal/testseed":       {"internal/testneed"},
	"internal/traceprocessor": {"internal/npmfile", "internal/testneed"},
	"internal/npmfile":        {}, // for tests

	// Imported by no other package.
	"cmd":      {"..."},
	"tools":    {"..."},
	"examples": {"..."}, // but nothing under internal/
}

// onlyCommands are the rooms of programs: no other room may import them.
var onlyCommands = []string{"cmd", "tools", "examples", "sensor/cmd"}

// internalOnlyFor are the rooms that may import what is under internal/.
var internalOnlyFor = []string{"cmd", "internal", "tools"}

// middle are the rooms between the model and the pipeline. They meet in trace and clock and never import each other.
var middle = []string{"match", "align", "order", "probe", "format"}

// row returns the row of the table that applies to a package, and the package's home: the folder whose packages may import
// each other. It is the row of the longest path.
func row(pkg string) (name, home string, ok bool) {
	for home = pkg; home != "."; home = path.Dir(home) {
		if mayImport[home] != nil {
			return home, home, true
		}
		if each := path.Dir(home) + "/*"; mayImport[each] != nil {
			return each, home, true
		}
	}
	return "", "", false
}

// isForTests says whether a package only serves the tests of others.
func isForTests(pkg string) bool { return strings.HasSuffix(pkg, "test") }

// within says whether a package is a folder or lies under it.
func within(pkg, folder string) bool { return strings.HasPrefix(pkg+"/", folder+"/") }

func withinAny(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(pkg, f) })
}

// allowed returns why one package of this project must not import another, nil if it may.
func allowed(from, to string) error {
	if isForTests(from) && !withinAny(to, onlyCommands) {
		return nil
	}
	name, home, ok := row(from)
	switch {
	case isForTests(to) && !within(from, "tools"):
		return errors.New("it is for tests")
	case !ok:
		return errors.New("has no row in the table of rooms (mayImport)")
	case withinAny(to, onlyCommands):
		if !slices.ContainsFunc(onlyCommands, func(room string) bool { return within(to, room) && within(from, room) }) {
			return errors.New("programs are imported by nobody")
		}
	case within(to, "internal") && !withinAny(from, internalOnlyFor):
		return errors.New("internal/ is for cmd, internal and tools only")
	}
	for _, target := range mayImport[name] {
		folder, all := strings.CutSuffix(target, "/...")
		if target == "..." || to == target || all && within(to, folder) {
			return nil
		}
	}
	// A room's own packages, except those under it that have a row of their own.
	if to == home || within(to, home) && mayImport[to] == nil {
		return nil
	}
	return errors.New("not in the table of rooms (mayImport)")
}

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, p := range packages(t) {
		if _, _, ok := row(p.room()); !ok && !isForTests(p.room()) {
			t.Errorf("%s has no row in the table of rooms (mayImport)", p.room())
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			if err := allowed(p.room(), to); err != nil {
				t.Errorf("%s imports %s: %v", p.room(), to, err)
			}
		}
	}
	for name := range mayImport {
		if !slices.ContainsFunc(packages(t), func(p listed) bool { return within(p.room(), strings.TrimSuffix(name, "/*")) }) {
			t.Errorf("row %s: no such package", name)
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
		{"align/live", "align", true},
		{"align/live", "order", false},
		{"align/live", "align/online", true},
		{"align/online", "align/bound", true},
		{"match", "order", false},
		{"match", "clock", true},
		{"format", "format/pcap", true},
		{"format/pcap", "format", false},
		{"format/pcap", "format/messages", false},
		{"format/pcap", "format/internal/stream", true},
		{"format/internal/timeline", "format/internal/stream", true},
		{"format/ctf", "format/ctf/packet", true},
		{"sensor", "sensor/ring", true},
		{"sensor/ring", "trace", false},
		{"sensor/ring", "sensor", false},
		{"sensor/sensorhttp", "sensor", true},
		{"sensor/sensorgrpc", "sensor/ring", false},
		{"sensor", "sensor/sensorhttp", false},
		{"examples/rpc", "sensor", true},
		{"examples/rpc", "internal/pipeline", false},
		{"examples/rpc", "examples/c", true},
		{"internal/pipeline", "examples/rpc", false},
		{"internal/pipeline", "tools/study", false},
		{"internal/pipeline", "align/quality", true},
		{"internal/pipeline/input", "internal/pipeline", false},
		{"internal/pipeline", "cmd/meridian", false},
		{"internal/pipeline", "sensor", false},
		{"internal/show", "format/pcap", true},
		{"internal/show", "match", false},
		{"internal/show/index", "internal/show", false},
		{"internal/show/view", "internal/show", true},
		{"internal/show/index", "internal/show/index/indextest", false},
		{"internal/record/internal/kerneltest", "internal/netlab", true},
		{"internal/record/internal/kerneltest", "cmd/meridian", false},
		{"tools/viewbench", "internal/show/index/indextest", true},
		{"internal/record", "internal/record/packet", true},
		{"internal/record/kernel", "internal/record/internal/proc", true},
		{"internal/record/packet", "internal/pipeline", false},
		{"align", "internal/netlab", false},
		{"format/pcap", "internal/filter", false},
		{"internal/netlab", "internal/sim", true},
		{"cmd/meridian", "sensor", true},
		{"sensor", "sensor/cmd/meridian-sensorgen", false},
		{"sensor/cmd/meridian-sensorgen", "sensor", false},
		{"cmd/meridian", "tools/testall", false},
		{"tools/study", "internal/sim", true},
		{"tools/study", "cmd/meridian", false},
		{"somewhere", "clock", false},
		{"internal/somewhere", "clock", false},
	} {
		if err := allowed(test.from, test.to); (err == nil) != test.good {
			t.Errorf("%s importing %s: %v", test.from, test.to, err)
		}
	}
}

// TestTableKeepsThePromisesOfTheDesign holds against a row that would undo a rule of the whole.
func TestTableKeepsThePromisesOfTheDesign(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(mayImport)) {
		from := strings.TrimSuffix(name, "/*")
		public := !withinAny(from, internalOnlyFor) && !within(from, "examples")
		for _, target := range mayImport[name] {
			to := strings.TrimSuffix(target, "/...")
			if target == "..." {
				if !withinAny(from, onlyCommands) {
					t.Errorf("row %s allows every room", name)
				}
				continue
			}
			if _, _, ok := row(to); !ok {
				t.Errorf("row %s names %s, which has no row", name, target)
			}
			if target == name {
				t.Errorf("row %s names itself", name)
			}
			if public && within(to, "internal") {
				t.Errorf("row %s: the public room imports %s", name, target)
			}
			if withinAny(from, middle) && withinAny(to, middle) && !within(to, strings.Split(from, "/")[0]) {
				t.Errorf("row %s: a middle room imports %s", name, target)
			}
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
