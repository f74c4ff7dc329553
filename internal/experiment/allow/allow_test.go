package allow

import (
	"strings"
	"testing"

	"meridian/internal/testseed"
)

const text = `# what experiments may run here
use pipeline
run /usr/bin/iperf3
run /usr/bin/sleep 10   # with this argument alone
run "/opt/with blank" "a b" ""
env LANG
`

func parse(t *testing.T, text string) *List {
	t.Helper()
	l, err := Parse("list", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWhatTheListDoesNotNameIsRefused(t *testing.T) {
	for _, c := range []struct {
		p    Program
		want string // part of the refusal; "" for none
	}{
		{Program{Standard: "pipeline", Args: []string{"run-daemon", "pipeline"}}, ""},
		{Program{Standard: "fault", Args: []string{"run-daemon", "fault"}}, `"use fault"`},
		{Program{Standard: "*", Args: []string{"run-daemon", "*"}}, `"use *"`},
		{Program{Path: "/usr/bin/iperf3", Args: []string{"iperf3", "--client", "x"}}, ""},
		{Program{Path: "/usr/bin/../bin/iperf3", Args: []string{"iperf3"}}, ""},
		{Program{Path: "/usr/bin/iperf3x", Args: []string{"iperf3"}}, `"run /usr/bin/iperf3x"`},
		{Program{Path: "/tmp/run/daemons/d/iperf3", Args: []string{"iperf3"}}, `"run /tmp/run/daemons/d/iperf3"`},
		{Program{Path: "iperf3", Args: []string{"iperf3"}}, "not absolute"},
		{Program{Path: "/usr/bin/sleep", Args: []string{"sleep", "10"}}, ""},
		{Program{Path: "/usr/bin/sleep", Args: []string{"sleep", "11"}}, `"run /usr/bin/sleep"`},
		{Program{Path: "/usr/bin/sleep", Args: []string{"sleep", "10", "11"}}, `"run /usr/bin/sleep"`},
		{Program{Path: "/usr/bin/sleep", Args: []string{"sleep"}}, `"run /usr/bin/sleep"`},
		{Program{Path: "/opt/with blank", Args: []string{"x", "a b", ""}}, ""},
		{Program{Path: "/opt/with", Args: []string{"x", "blank", "a b", ""}}, `"run /opt/with"`},
		{Program{Path: "/bin/sh", Args: []string{"sh", "-c", "id"}}, `"shell"`},
		{Program{Path: "/bin/sh", Args: []string{"sh", "script"}}, `"run /bin/sh"`},
		{Program{Path: "/usr/bin/iperf3", Args: []string{"iperf3"}, Env: map[string]string{"LANG": "C"}}, ""},
		{Program{Path: "/usr/bin/iperf3", Args: []string{"iperf3"}, Env: map[string]string{"LD_PRELOAD": "./x.so"}}, `"env LD_PRELOAD"`},
		{Program{Standard: "pipeline", Env: map[string]string{"PATH": "."}}, `"env PATH"`},
	} {
		switch err := parse(t, text).Check(&c.p); {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.p, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %s", c.p, err, c.want)
		}
	}
}

func TestAnEmptyListPermitsNothing(t *testing.T) {
	for _, p := range []Program{{Standard: "pause"}, {Path: "/bin/true", Args: []string{"true"}}, {Path: "/bin/sh", Args: []string{"sh", "-c", "true"}}} {
		if parse(t, "\n# nothing\n").Check(&p) == nil || new(List).Check(&p) == nil {
			t.Errorf("%+v is permitted", p)
		}
	}
}

func TestShellPermitsTextsForItAlone(t *testing.T) {
	l := parse(t, "shell\n")
	if err := l.Check(&Program{Path: "/bin/sh", Args: []string{"sh", "-c", "id"}}); err != nil {
		t.Error(err)
	}
	if l.Check(&Program{Path: "/bin/sh", Args: []string{"sh", "script"}}) == nil || l.Check(&Program{Standard: "pause"}) == nil {
		t.Error("shell permits other programs")
	}
}

func TestUseOfAllPermitsEveryStandardDaemon(t *testing.T) {
	if err := parse(t, "use *\n").Check(&Program{Standard: "rpc"}); err != nil {
		t.Error(err)
	}
}

func TestAWrongLineIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"run iperf3":         "absolute path",
		"run":                "found 0",
		"use a b":            "found 2",
		"use":                "found 0",
		"env MERIDIAN":       "not one of MERIDIAN",
		"env A=b":            "want the name",
		"shell yes":          "nothing behind it",
		"allow /bin/ls":      `"allow": want use NAME`,
		`run "/bin/ls`:       "closing quotation mark",
		`run "/bin/ls"-l`:    "want a blank",
		"Shell":              `"Shell": want`,
		"\x00":               "want use NAME",
		`run /bin/ls "\xZZ"`: "closing quotation mark",
	} {
		_, err := Parse("list", []byte("use pause\n\n"+line+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "list:3: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want list:3 and %s", line, err, want)
		}
	}
}

// What is read is what is compared: no line of any text permits a shell unless it has the word.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte("shell"))
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		l, err := Parse("list", b)
		if err != nil {
			return
		}
		p := Program{Path: "/bin/sh", Args: []string{"sh", "-c", "id"}}
		if l.Check(&p) == nil && !strings.Contains(string(b), "shell") && !strings.Contains(string(b), "run") && !strings.Contains(string(b), `"`) {
			t.Errorf("%q permits the shell", b)
		}
	})
}
