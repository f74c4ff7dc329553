package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/internal/experiment/protocol"
	"meridian/internal/testseed"
)

var standard = []*protocol.Spec{{
	Name: "load", Phases: []protocol.PhaseSpec{
		{Name: "setup", With: []protocol.Param{{Name: "port", Required: true}}},
		{Name: "send", With: []protocol.Param{{Name: "count"}}},
	},
}}

func knownOutput(name string) error {
	if !strings.HasSuffix(name, ".plot") {
		return errors.New(name + ": unknown output format")
	}
	return nil
}

func read(text string) (*Experiment, error) {
	return Read([]byte(text), Options{Name: "f.yaml", Base: "f", Standard: standard, Output: knownOutput})
}

const whole = `hosts: [a, b]
daemons:
  one: {host: a, run: [true]}
  two: {hosts: all, run: [./two, "${host}"], speaks: true}
schedule:
  - one.run
  - [two.go]
`

func TestProblemsNameTheLineAndWhatWasExpected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "1:1: the file is empty"},
		{"a list", "- a\n", "1:1: got a list, want a mapping with hosts, daemons and schedule"},
		{"no YAML", "hosts: [a\ndaemons: }", "invalid YAML"},
		{"Latin-1", "name: caf\xe9\n" + whole, "1:10: byte 0xe9 is not UTF-8"},
		{"brackets", "hosts: " + strings.Repeat("[", 100_000), "1:1008: more than 1000 brackets are open"},
		{"lists in a line", "hosts: [a]\nx:\n  " + strings.Repeat("- ", 100_000), "3:1: more than 1000 values begin within each other in one line"},
		{"a key twice", whole + "hosts: [c]\n", "8:1: invalid YAML: mapping key \"hosts\" already defined at [1:1]"},
		{"two documents", whole + "---\nhosts: [a]\n", "9:1: a second document"},
		{"unknown key", "shedule: []\n" + whole, `1:1: file: unknown key "shedule"; did you mean "schedule"?`},
		{"missing key", "hosts: [a]\nschedule: [x.run]\n", "1:1: file: daemons is missing"},
		{"unknown key of a daemon", strings.Replace(whole, "speaks", "speak", 1), `4:46: daemon two: unknown key "speak"; did you mean "speaks"?`},
		{"unknown host", strings.Replace(whole, "host: a", "host: c", 1), `3:15: daemon one: host: unknown host "c" (a, b)`},
		{"unknown daemon", strings.Replace(whole, "- one.run", "- on.run", 1), `6:5: phase "on.run": unknown daemon "on"`},
		{"unknown phase", strings.Replace(whole, "- one.run", "- one.start", 1), `6:5: phase "one.start": daemon one has no phase "start" (run)`},
		{"unknown variable", strings.Replace(whole, "${host}", "${hots}", 1), `4:34: unknown variable ${hots}; did you mean "host"?`},
		{"unknown address", strings.Replace(whole, "${host}", "${address.c}", 1), `unknown host "c" (a, b)`},
		{"a variable of the place", strings.Replace(whole, "host: a", "host: '${host}'", 1), "3:15: daemon one: host: ${host} is known in run"},
		{"timeout", "timeout: 5\n" + whole, `1:10: timeout: got "5", want a time such as 500ms, 20s or 5m`},
		{"repeat", "repeat: many\n" + whole, `1:9: repeat: got "many", want a whole number from 1 to 10000`},
		{"matrix", "matrix: {n: 3}\n" + whole, `1:13: matrix: n: got "3", want a list of values`},
		{"matrix without values", "matrix: {n: []}\n" + whole, `1:13: matrix: n: the list is empty, want values such as [1, 2]`},
		{"output of no format", "outputs: [x.plot, x.unknown]\n" + whole, "1:19: outputs: x.unknown: unknown output format"},
		{"output twice", "outputs: [x.plot, y.plot, x.plot]\n" + whole, "1:27: outputs: x.plot is there twice"},
		{"output that is there anyway", "outputs: [timeline.html]\n" + whole, "1:11: outputs: timeline.html is written by each run anyway"},
		{"output over the report", "outputs: report.json\n" + whole, "1:10: outputs: report.json is written by each run anyway"},
		{"output elsewhere", "outputs: [../x.plot]\n" + whole, `1:11: outputs: "../x.plot": want a name such as timeline.plot`},
		{"place", "on: cloud\n" + whole, `1:5: on: got "cloud", want namespaces, processes, ssh, agents`},
		{"rate", "links: [{between: [a, b], rate: fast}]\n" + whole, `1:33: link: rate: got "fast", want a rate such as 10Mbit`},
		{"link of one", "links: [{between: [a, a]}]\n" + whole, `want two hosts such as [a, b]`},
		{"loss", "links: [{between: [a, b], loss: 0.1}]\n" + whole, `got "0.1", want a percentage from 0% to 100%`},
		{"two programs", strings.Replace(whole, "run: [true]", "run: [true], shell: x", 1), "run and shell exclude each other"},
		{"no program", strings.Replace(whole, ", run: [true]", "", 1), "3:3: daemon one: want one of run, shell and use"},
		{"nowhere", strings.Replace(whole, "host: a, ", "", 1), "3:3: daemon one: host is missing"},
		{"standard", strings.Replace(whole, "run: [true]", "use: lode", 1), `unknown standard daemon "lode"; did you mean "load"?`},
		{"parameter", strings.Replace(whole, "run: [true]", "use: load, with: {prot: 1}", 1), `unknown parameter "prot"`},
		{"missing parameter", strings.Replace(strings.Replace(whole, "run: [true]", "use: load", 1), "one.run", "one.setup", 1), "6:5: phase one.setup: parameter port is missing"},
		{"pair", whole + "expect:\n  - pair: a..b\n", "9:11: expect: invalid pair"},
		{"threshold", whole + "expect:\n  - pair: x=a..b\n", "pair without a threshold"},
		{"gathered", whole + "expect:\n  - equal: [a:one/f, b:two/f]\n", "daemon one gathers no files"},
		{"exit", whole + "expect:\n  - {exit: tow}\n", `unknown daemon "tow"`},
		{"two checks", whole + "expect:\n  - {lost: 0, inversions: 0}\n", "lost and inversions in one check"},
		{"outside", strings.Replace(whole, "run: [true]", "run: [true], gather: [../x]", 1), `"../x" is not a pattern within the daemon's directory`},
		{"twice", strings.Replace(whole, "[two.go]", "[two.go, two.go]", 1), "phase two.go is in this block twice on a host"},
		{"alias", "vars: {x: *y}\n" + whole, "unknown alias *y"},
		{"merge key", "vars: {<<: {x: 1}}\n" + whole, "<< is not read"},
		{"name", strings.Replace(whole, "[a, b]", "[a, b/c]", 1), `"b/c" is not a name`},
		{"nothing", strings.Replace(whole, "- one.run", "-", 1), "a block is empty"},
		{"clock", strings.Replace(whole, "[a, b]", "{a: {clock: {ahead: 3}}, b: }", 1), `1:28: host a: clock: ahead: got "3", want a time such as 3s`},
		{"fast clock", strings.Replace(whole, "[a, b]", "{a: {clock: {fast: 1000ppm}}, b: }", 1), `host a: clock: fast: got "1000ppm", want a rate such as 40ppm or -2.5ppm, 400 ppm at most`},
		{"rate without a unit", strings.Replace(whole, "[a, b]", "{a: {clock: {fast: 40}}, b: }", 1), `got "40", want a rate`},
		{"no rate", strings.Replace(whole, "[a, b]", "{a: {clock: {fast: NaNppm}}, b: }", 1), `got "NaNppm", want a rate`},
		{"check of no clock", whole + "expect: [{clock: c, within: 1ms}]\n", `unknown host "c"`},
		{"check of a clock without a limit", whole + "expect: [{clock: b}]\n", "expect: clock without within"},
		{"ahead of something else", whole + "expect: [{inversions: 0, ahead: 1s}]\n", "expect: ahead is not of inversions"},
		{"option", strings.Replace(whole, "[a, b]", "{a: {ssh: -oProxyCommand=x}, b: }", 1), "begins with -"},
	} {
		_, err := read(test.text)
		var problems Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v, want problems", test.name, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v\nwant %s", test.name, err, test.want)
		}
		for _, p := range problems {
			if lines := strings.Count(test.text, "\n") + 2; p.Line < 1 || p.Line > lines || p.Column < 1 {
				t.Errorf("%s: %v: no such line", test.name, p)
			}
		}
	}
}

func TestAByteOrderMarkIsNoPartOfTheFile(t *testing.T) {
	t.Parallel()
	if _, err := read("\ufeff" + whole); err != nil {
		t.Error(err)
	}
	if _, err := read("\ufeff" + "shedule: []\n" + whole); err == nil || !strings.Contains(err.Error(), `1:1: file: unknown key "shedule"`) {
		t.Error(err)
	}
}

func TestAllMistakesAreToldAtOnceInTheOrderOfLines(t *testing.T) {
	t.Parallel()
	_, err := read(strings.NewReplacer("host: a", "host: x", "one.run", "none.run", "two.go", "too.go").Replace(whole))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 3 || problems[0].Line != 3 || problems[1].Line != 6 || problems[2].Line != 7 {
		t.Errorf("%v, want problems of lines 3, 6 and 7", err)
	}
}

func TestMatrixAndRepeatMakeARunForEachCombination(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfNDistinct(rapid.IntRange(0, 99), 1, 4, rapid.ID[int]).Draw(t, "x")
		y := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), 1, 3, rapid.ID[string]).Draw(t, "y")
		repeat := rapid.IntRange(1, 3).Draw(t, "repeat")
		head := fmt.Sprintf("matrix: {x: [%s], y: [%s]}\nrepeat: %d\n", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x)), ", "), "[]"), strings.Join(y, ", "), repeat)
		e, err := read(head + strings.Replace(whole, "run: [true]", `run: [true, "${x}-${y}-${repeat}"]`, 1))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, a := range x {
			for _, b := range y {
				for i := range repeat {
					want = append(want, fmt.Sprintf("%d-%s-%d", a, b, i+1))
				}
			}
		}
		for _, r := range e.Runs {
			got = append(got, r.Daemons[0].Run[1])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestWhatAFileSaysIsWhatRuns(t *testing.T) {
	t.Parallel()
	e, err := read(`vars: {n: 4}
hosts: {a: , b: {ssh: me@b, address: 10.0.0.2}}
links: [{between: [b, a], rate: 2.5Mbit, buffer: 64KiB, loss: 0.5%, delay: 3ms}]
daemons:
  l: {hosts: all, use: load, with: {port: "${n}", count: '${n}0'}}
  s: {host: b, shell: "echo $${HOME} ${address.a} ${n}"}
schedule:
  - {block: first, timeout: 3s, phases: [{phase: l.setup, on: b}, s]}
  - {phase: l.send, with: {count: 2.5}, timeout: 1s}
expect:
  - {name: x, pair: "p=a..b,max=5ms", unpaired: 2}
  - {result: l.send.p99_ns, max: 1.5e6, host: a}
`)
	if err != nil {
		t.Fatal(err)
	}
	r := e.Runs[0]
	if l := r.Links[0]; l.Between != [2]string{"a", "b"} || l.Rate != 2_500_000 || l.Buffer != 65536 || l.Loss != 0.005 || l.Delay != 3*time.Millisecond {
		t.Errorf("link %+v", l)
	}
	first, second := r.Schedule[0], r.Schedule[1]
	if p := first.Phases[0]; first.Name != "first" || !slices.Equal(p.Hosts, []string{"b"}) || p.Timeout != 3*time.Second ||
		fmt.Sprint(p.With) != "map[port:4]" {
		t.Errorf("block %+v", first)
	}
	if p := second.Phases[0]; fmt.Sprint(p.With) != "map[count:2.5]" || p.Timeout != time.Second || len(p.Hosts) != 2 {
		t.Errorf("block %+v", second)
	}
	if text := Places(r.Daemons[1].Shell, "b", map[string]string{"a": "10.9.9.9"}); text != "echo ${HOME} 10.9.9.9 4" {
		t.Errorf("shell: %s", text)
	}
	if _, number := r.Daemons[0].With["port"].(int64); !number {
		t.Errorf("port is %T, want a number", r.Daemons[0].With["port"])
	}
	if _, text := r.Daemons[0].With["count"].(string); !text {
		t.Errorf("count is %T, want a text: a part of it was quoted", r.Daemons[0].With["count"])
	}
	if c := r.Expect[1]; *c.Max != 1.5e6 || c.Daemon != "l" || c.Phase != "send" || c.Field != "p99_ns" {
		t.Errorf("check %+v", c)
	}
}

func TestStartIsRight(t *testing.T) {
	t.Parallel()
	if _, err := read(Start); err != nil {
		t.Error(err)
	}
}

// TestSchemaHasEveryKey reads the schema as an editor would: every key of every table is there, and a reference leads somewhere.
func TestSchemaHasEveryKey(t *testing.T) {
	t.Parallel()
	text, err := Schema(standard)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	defs := root["$defs"].(map[string]any)
	for name, keys := range tables {
		of := root
		if name != "experiment" {
			of = defs[name].(map[string]any)
		}
		properties := of["properties"].(map[string]any)
		for _, k := range keys {
			if properties[k.name] == nil {
				t.Errorf("%s: no %s", name, k.name)
			}
		}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if to, ok := v["$ref"].(string); ok && defs[strings.TrimPrefix(to, "#/$defs/")] == nil {
				t.Errorf("%s leads nowhere", to)
			}
			for _, one := range v {
				walk(one)
			}
		case []any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(root)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(Start))
	f.Add([]byte("vars: {a: &x 1}\nmatrix: {b: [*x, 2]}\nrepeat: 2\n" + whole))
	testseed.Fuzz(f, func(t *testing.T, text []byte) {
		e, err := Read(text, Options{Name: "f.yaml", Base: "f", Standard: standard})
		if (e == nil) == (err == nil) {
			t.Fatalf("%v, %v: want an experiment or an error", e, err)
		}
		if e != nil && len(e.Runs) == 0 {
			t.Fatal("an experiment without a run")
		}
	})
}
