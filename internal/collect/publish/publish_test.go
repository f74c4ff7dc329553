package publish

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/internal/collect/wire"
)

func TestASubscriberGetsEveryEventOfANewSessionOnceAndInOrder(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	stored := t.TempDir()
	startLooked(t, Options{Dir: stored, Conn: connect(t, b.URL()), Server: "s"})
	sub := subscribe(t, connect(t, b.URL()), "night", wire.EventsJSON)
	const events = 2000
	w := record(t, stored, "night", "web", ticks(0, events))
	for i := range 20 {
		w.grow(float64(i+1) / 20)
		time.Sleep(5 * time.Millisecond)
	}
	r := &reader{t: t}
	r.await(sub, func() bool { return len(r.numbers) >= events })
	if !slices.IsSorted(r.numbers) || len(r.numbers) != events || len(slices.Compact(r.numbers)) != events {
		t.Errorf("%d events, sorted: %v", len(r.numbers), slices.IsSorted(r.numbers))
	}
	if len(r.missed) > 0 || len(r.begun) != 1 || r.next != events+1 {
		t.Errorf("missed %q, timelines %q, next event %d", r.missed, r.begun, r.next)
	}
	if r.hosts["web"] != events {
		t.Errorf("events by host: %v; want all of web, the name of the directory", r.hosts)
	}
}

func TestWhatASessionHeldBeforeIsLeftOut(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	stored := t.TempDir()
	w := record(t, stored, "night", "web", ticks(0, 2000))
	w.grow(0.5)
	p, _ := start(t, Options{Dir: stored, Conn: connect(t, b.URL())})
	sub := subscribe(t, connect(t, b.URL()), "night", wire.EventsJSON)
	awaitState(t, p, func(s *State) bool { return s.Session == "night" && len(s.Hosts) == 1 }) // what is there has been looked at
	w.grow(1)
	r := &reader{t: t}
	r.await(sub, func() bool { return len(r.numbers) > 0 && r.numbers[len(r.numbers)-1] == 1999 })
	if first := r.numbers[0]; first < 900 || len(r.missed) > 0 {
		t.Errorf("the first event is %d of 2000, half of which were there before; missed %q", first, r.missed)
	}
}

func awaitState(t testing.TB, p *Publisher, is func(*State) bool) *State {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		for _, s := range p.States() {
			if is(s) {
				return s
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the state does not come: %s", wire.Encode(p.States()))
		}
	}
}

func TestHostsStandAsTheirTracesSay(t *testing.T) {
	t.Parallel()
	stored := t.TempDir()
	br := startBroker(t)
	told := subscribe(t, connect(t, br.URL()), "night", wire.SessionHosts)
	p := startLooked(t, Options{Dir: stored, Conn: connect(t, br.URL()), Server: "s"})
	a, b := record(t, stored, "night", "a", ticks(0, 1000)), record(t, stored, "night", "b", ticks(0, 1000))
	a.grow(1)
	b.grow(1)
	s := awaitState(t, p, func(s *State) bool { return s.Events == 2000 && len(s.Hosts) == 2 })
	for i, name := range []string{"a", "b"} {
		h := s.Hosts[i]
		if h.Host != name || h.TimeNs != origin+999_000_000 || h.BoundNs != nil {
			t.Errorf("%+v; want host %s, whose latest event is at %d and has no bounds: no message binds it", h, name, int64(origin+999_000_000))
		}
	}
	if s.Hosts[0].Component == s.Hosts[1].Component {
		t.Error("hosts that share no message are in one component")
	}
	for {
		m, err := told.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x, err := wire.Decode[State](m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if x.Events == 2000 && len(x.Hosts) == 2 && x.Server == "s" && x.Session == "night" {
			break
		}
	}
}

func TestABrokenSessionDisturbsNoOther(t *testing.T) {
	t.Parallel()
	stored := t.TempDir()
	bad := filepath.Join(stored, "bad", "web")
	if err := os.MkdirAll(bad, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, "metadata"), []byte("/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = nonsense;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := startLooked(t, Options{Dir: stored})
	w := record(t, stored, "good", "web", ticks(0, 1000))
	w.grow(1)
	awaitState(t, p, func(s *State) bool { return s.Session == "good" && s.Events == 1000 })
}
