package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPlansOfProbesThatCannotBeAreRefused(t *testing.T) {
	key := strings.Repeat("5a", 32)
	good := func() *ProbePlan {
		return &ProbePlan{Version: Version, Server: "s", Session: "night", Key: key, Ask: []ProbePeer{{"db", "10.0.0.3:4123", 8}, {"cache", "[fd00::3]:4123", 0.5}}}
	}
	if err := good().Check("web", "night"); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*ProbePlan){
		"update the older one":      func(p *ProbePlan) { p.Version++ },
		"it is for session":         func(p *ProbePlan) { p.Session = "day" },
		"64 hexadecimal digits":     func(p *ProbePlan) { p.Key = key[2:] },
		"the server's name":         func(p *ProbePlan) { p.Server = "../s" },
		"must not contain":          func(p *ProbePlan) { p.Ask[1].Host = "a/b" },
		"asked twice":               func(p *ProbePlan) { p.Ask[1].Host = "db" },
		"or by itself":              func(p *ProbePlan) { p.Ask[1].Host = "web" },
		"rate 65":                   func(p *ProbePlan) { p.Ask[0].Rate = 65 },
		"rate 0":                    func(p *ProbePlan) { p.Ask[0].Rate = 0 },
		"not an ip:port":            func(p *ProbePlan) { p.Ask[0].Address = "10.0.0.3" },
		"unable to parse IP":        func(p *ProbePlan) { p.Ask[0].Address = "name:4123" },
		"cannot send to it":         func(p *ProbePlan) { p.Ask[0].Address = "224.0.0.1:4123" },
		"0.0.0.0:4123: other hosts": func(p *ProbePlan) { p.Ask[0].Address = "0.0.0.0:4123" },
		"10.0.0.3:0: other hosts":   func(p *ProbePlan) { p.Ask[0].Address = "10.0.0.3:0" },
		"65 hosts to ask":           func(p *ProbePlan) { p.Ask = make([]ProbePeer, 65) },
	} {
		p := good()
		change(p)
		if err := p.Check("web", "night"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func TestWhatAnAgentSaysOfProbesIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "",
		`{"address": "10.0.0.2:4123", "pairs": [{"host": "db", "exchanges": 3, "width_ns": 5000, "least_rtt_ns": 3000}]}`: "",
		`{"address": "[::]:4123"}`:                         "--probe-address",
		`{"pairs": [{"host": "../db"}]}`:                   "must not",
		`{"pairs": [{"host": "db", "width_ns": -1}]}`:      "negative",
		`{"pairs": [{"host": "db", "least_rtt_ns": -1}]}`:  "negative",
		`{"error": "` + strings.Repeat("x", 2000) + `"}`:   "2000 bytes",
		`{"pairs": [` + strings.Repeat(`{},`, 64) + `{}]}`: "65 pairs",
	} {
		if _, err := ReadAgentStatus(OfHost("web", "alive"), []byte(`{"version": 1, "probing": `+text+`}`)); (err == nil) != (want == "") {
			t.Errorf("%.80s in what an agent says: %v", text, err)
		}
		var p Probing
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, not %q", text, err, want)
		}
	}
}
