package planned

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"meridian/internal/record"
)

// running is a source that is read until the test ends.
type running struct {
	plan   string
	mu     sync.Mutex
	events int
	warned []string
}

func start(t *testing.T, p *Plan) *running {
	t.Helper()
	r := &running{plan: filepath.Join(t.TempDir(), "plan")}
	if p != nil {
		r.write(t, p)
	}
	s := New(r.plan, func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.warned = append(r.warned, text)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Read(ctx, func(*record.Event) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events++
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *running) write(t *testing.T, p *Plan) {
	t.Helper()
	if err := p.Write(r.plan); err != nil {
		t.Fatal(err)
	}
}

// until waits for a state that is as it should be.
func (r *running) until(t *testing.T, what string, is func(s *State) bool) State {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := ReadState(r.plan)
		if err == nil && is(&s) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("not %s: %+v, %v; %q", what, s, err, r.warnings())
		}
	}
}

func (r *running) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warned)
}

func TestHostsExchangeProbesAsTheirPlansSayAndFollowChanges(t *testing.T) {
	t.Parallel()
	a := start(t, &Plan{Listen: "127.0.0.1:0", Key: fuzzKey})
	s := a.until(t, "listening", func(s *State) bool { return s.Listening != "" })
	b := start(t, nil) // its plan comes later
	ask := &Plan{Key: fuzzKey, Ask: []Peer{{Name: "a", Address: s.Listening, Rate: 50}}}
	b.write(t, ask)
	answered := func(s *State) bool { return len(s.Pairs) == 1 && s.Pairs[0].Exchanges > 3 }
	got := b.until(t, "answered", answered)
	if p := got.Pairs[0]; p.Name != "a" || p.Silent || p.Width <= 0 || p.LeastRTT <= 0 || p.Error != "" {
		t.Errorf("%+v", p)
	}
	ask.Ask[0].Rate = 100 // what is known stays
	b.write(t, ask)
	more := got.Pairs[0].Exchanges
	b.until(t, "asked on", func(s *State) bool { return len(s.Pairs) == 1 && s.Pairs[0].Exchanges > more })

	// A plan that cannot be used changes nothing, and is told once.
	bad := filepath.Join(t.TempDir(), "bad") // whole at once: an empty plan would be another warning
	if err := errors.Join(os.WriteFile(bad, []byte("{"), 0o600), os.Rename(bad, b.plan)); err != nil {
		t.Fatal(err)
	}
	got = b.until(t, "refused", func(s *State) bool { return s.Error != "" })
	if more = got.Pairs[0].Exchanges; len(b.warnings()) != 1 || !strings.Contains(b.warnings()[0], b.plan) {
		t.Errorf("%q", b.warnings())
	}
	b.until(t, "asked on", func(s *State) bool { return s.Error != "" && len(s.Pairs) == 1 && s.Pairs[0].Exchanges > more })

	ask.Ask = nil
	b.write(t, ask)
	b.until(t, "done", func(s *State) bool { return s.Error == "" && len(s.Pairs) == 0 })
	for name, r := range map[string]*running{"a": a, "b": b} {
		r.mu.Lock()
		if r.events < 8 {
			t.Errorf("%s has %d events", name, r.events)
		}
		r.mu.Unlock()
	}
}

// Another key, an address that is taken and one that is none are told by state, and of the last two people are warned as well.
func TestWhatCannotBeAskedOrAnsweredIsTold(t *testing.T) {
	t.Parallel()
	a := start(t, &Plan{Listen: "127.0.0.1:0", Key: fuzzKey})
	s := a.until(t, "listening", func(s *State) bool { return s.Listening != "" })
	b := start(t, &Plan{Listen: s.Listening, Key: strings.Repeat("ab", 32), Ask: []Peer{{Name: "a", Address: s.Listening}, {Name: "none", Address: "no.such.host.invalid:9"}}})
	got := b.until(t, "told", func(s *State) bool { return len(s.Pairs) == 2 && s.Pairs[0].Silent && s.Pairs[1].Error != "" })
	if !strings.Contains(got.Error, "not answered at "+s.Listening) || got.Listening != "" || got.Pairs[0].Exchanges > 0 || got.Pairs[0].Error != "" || !got.Pairs[1].Silent {
		t.Errorf("%+v", got)
	}
	if w := b.warnings(); len(w) != 1 || !strings.Contains(w[0], s.Listening) {
		t.Errorf("%q", w)
	}
}

func TestPlansThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	peer := func(name, address string, rate float64) []Peer {
		return []Peer{{Name: name, Address: address, Rate: rate}}
	}
	for says, p := range map[string]Plan{
		"64 hexadecimal":     {Listen: "127.0.0.1:0"},
		"not 64":             {Key: fuzzKey[1:], Ask: peer("a", "b:9", 1)},
		"listen: ":           {Listen: "127.0.0.1", Key: fuzzKey},
		"257 hosts":          {Key: fuzzKey, Ask: make([]Peer, 257)},
		"is not HOST:PORT":   {Key: fuzzKey, Ask: peer("a", "b", 1)},
		`"b:0" of "a" is n`:  {Key: fuzzKey, Ask: peer("a", "b:0", 1)},
		"or none, are named": {Key: fuzzKey, Ask: peer("", "b:9", 1)},
		"two hosts":          {Key: fuzzKey, Ask: append(peer("a", "b:9", 1), peer("a", "c:9", 1)...)},
		"rate -1":            {Key: fuzzKey, Ask: peer("a", "b:9", -1)},
		"rate 1001":          {Key: fuzzKey, Ask: peer("a", "b:9", 1001)},
	} {
		if err := p.Write(filepath.Join(t.TempDir(), "plan")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	dir := t.TempDir()
	good := &Plan{Key: fuzzKey, Ask: peer("a", "b:9", 1)}
	file := filepath.Join(dir, "plan")
	if err := good.Write(file); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func() error{
		"others can read":  func() error { return os.Chmod(file, 0o644) },
		"longer than":      func() error { return os.WriteFile(file, make([]byte, maxPlan+1), 0o600) },
		"unknown field":    func() error { return os.WriteFile(file, []byte(`{"keys":"x"}`), 0o600) },
		"no such file":     func() error { return os.Remove(file) },
		"not a regular fi": func() error { return os.Mkdir(file, 0o700) },
	} {
		os.RemoveAll(file)
		if err := good.Write(file); err != nil {
			t.Fatal(err)
		}
		if says == "not a regular fi" {
			os.Remove(file)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "plan*")); err != nil || len(left) > 1 {
		t.Errorf("%v is left", left)
	}
}
