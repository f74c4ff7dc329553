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
	const events = 16_000 // of some 200 packets
	w := record(t, stored, "night", "web", ticks(0, events))
	w.grow(0.5)
	p, _ := start(t, Options{Dir: stored, Conn: connect(t, b.URL())})
	sub := subscribe(t, connect(t, b.URL()), "night", wire.EventsJSON)
	awaitState(t, p, func(s *State) bool { return s.Timeline != "" })
	r := &reader{t: t}
	for share := 0.51; len(r.numbers) == 0; share += 0.01 { // until growth comes behind the first look
		if share >= 1 {
			t.Fatal("no event of what was written later has come")
		}
		w.grow(share)
		for len(r.numbers) == 0 {
			m, err := sub.NextMsg(time.Second)
			if err != nil {
				break
			}
			r.take(m)
		}
	}
	w.grow(1)
	r.await(sub, func() bool { return r.numbers[len(r.numbers)-1] == events-1 })
	if first := r.numbers[0]; first < events*9/20 || len(r.missed) > 0 {
		t.Errorf("the first event is %d of %d, half of which were there before; missed %q", first, events, r.missed)
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
