//go:build unix

package host

import (
	"strings"
	"testing"

	"meridian/internal/experiment/allow"
	"meridian/internal/experiment/protocol"
)

// What a controller may say to a host of its own and not to one behind an agent: the place and the directories are the agent's, the
// network is nobody's.
func TestAHostBehindAnAgentRefusesWhatIsNotTheExperiments(t *testing.T) {
	list, err := allow.Parse("list", []byte("use *\nshell\n"))
	if err != nil {
		t.Fatal(err)
	}
	good := protocol.Setup{Place: "agents"}
	with := func(change func(*protocol.Setup)) *protocol.Order {
		s := good
		change(&s)
		return &protocol.Order{Setup: &s}
	}
	for name, c := range map[string]struct {
		order *protocol.Order
		want  string // "" for none
	}{
		"setup":        {&protocol.Order{Setup: &good}, ""},
		"place":        {with(func(s *protocol.Setup) { s.Place = "namespaces" }), `the place "namespaces"`}, // its faults would be the host's
		"directory":    {with(func(s *protocol.Setup) { s.Dir = "/etc" }), `the directory "/etc"`},
		"network":      {with(func(s *protocol.Setup) { s.Network = []string{"link set lo down"} }), "the network"},
		"traffic":      {with(func(s *protocol.Setup) { s.Traffic = []string{"qdisc del dev lo root"} }), "the network"},
		"filter":       {with(func(s *protocol.Setup) { s.Filter = "flush ruleset" }), "the network"},
		"forwarding":   {with(func(s *protocol.Setup) { s.Forward = true }), "the network"},
		"gather":       {&protocol.Order{Gather: &protocol.Gather{}}, ""},
		"gather there": {&protocol.Order{Gather: &protocol.Gather{To: "/etc"}}, `the directory "/etc"`},
	} {
		err := (&host{o: Options{Allow: list}}).permits(c.order)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := (&host{}).permits(c.order); err != nil {
			t.Errorf("%s, of the controller's own host: %v", name, err)
		}
	}
}

// A daemon that is this program is a standard one, and nothing else that this program does.
func TestOnlyStandardDaemonsAreThisProgram(t *testing.T) {
	list, err := allow.Parse("list", []byte("use pause\nshell\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{o: Options{Allow: list, Standard: "run-daemon"}}
	for _, c := range []struct {
		args []string
		good bool
	}{
		{[]string{"run-daemon", "pause"}, true},
		{[]string{"run-daemon", "fault"}, false},
		{[]string{"record", "--", "touch"}, false},
		{[]string{"run-daemon", "pause", "more"}, false},
		{[]string{"run-daemon"}, false},
		{[]string{"pause", "run-daemon"}, false},
	} {
		d := protocol.Daemon{Name: "d", Self: true, Args: c.args}
		if err := h.permitsDaemon(&d, "/usr/bin/meridian"); (err == nil) != c.good {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}
