package ondemand

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/excerpt"
	"meridian/internal/collect/wire"
	"meridian/internal/retention"
)

func TestAnAgentOnDemandTakesNoOtherCommands(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Host: "a/b", Session: "fleet"}, {Host: "web", Session: "../fleet"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v", o)
		}
	}
	a, err := New(Options{Host: "web", Session: "fleet", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for says, text := range map[string]string{
		"takes no other": string(wire.Encode(wire.Command{Version: wire.Version, Do: wire.Start, Session: "night"})),
		"erase":          `{"version":1,"do":"erase","session":"night"}`,
		"JSON":           `{`,
	} {
		s := a.obey(t.Context(), []byte(text))
		if s.State != wire.StateRefused || s.Host != "web" || !strings.Contains(s.Error, says) && says != "JSON" {
			t.Errorf("%s: %+v", text, s)
		}
	}
	if len(a.known) > 0 {
		t.Errorf("%d spans are known", len(a.known))
	}
}

// What an excerpt lacks is told with it: an empty trace would be read as a quiet host.
func TestWhatAnExcerptLacksIsSaid(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	span := excerpt.Span{From: at.UnixNano() - 10, To: at.UnixNano() + 10}
	dropped := retention.Dropped{All: retention.Span{Packets: 2, Events: 30, Bytes: 4096}}
	for want, found := range map[string]excerpt.Summary{
		"":                                   {Packets: 1, Recorded: at.UnixNano() - 20},
		"nothing was recorded in the span":   {Recorded: at.UnixNano() - 20},
		"the recorder had dropped 2 packets": {Packets: 1, Any: true, Dropped: dropped, Recorded: at.UnixNano()},
		"the recorder began at 03:04:05.000": {Frames: 1, Recorded: at.UnixNano()},
		"nothing was recorded in the span; the recorder began at 03:04:05.000006, within the span": {Recorded: at.UnixNano()},
	} {
		if got := problemOf(found, span); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%+v: %q, want %q", found, got, want)
		}
	}
}

// Spans that are known are bounded; the oldest may be asked for anew.
func TestAnAgentRemembersSoManySpans(t *testing.T) {
	t.Parallel()
	a, err := New(Options{Host: "web", Session: "fleet", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxKnown + 3 {
		name := "s" + strings.Repeat("x", i%7) + time.Duration(i).String()
		a.mu.Lock()
		a.begin(t.Context(), name, excerpt.Span{From: 1, To: 2})
		a.mu.Unlock()
		a.all.Wait()
	}
	if len(a.known) != maxKnown || len(a.order) != maxKnown || a.busy != nil {
		t.Errorf("%d spans, %d names", len(a.known), len(a.order))
	}
}

func TestAnAgentOnDemandSaysHowItIsProbedAndEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := nats.Connect(b.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Options{Conn: c, Host: "web", Session: "fleet", Dir: t.TempDir(), Probing: func() *wire.Probing { return &wire.Probing{Address: "127.0.0.1:9"} }})
	if err != nil {
		t.Fatal(err)
	}
	a.say()
	if s := a.said.Load(); !s.OnDemand || s.Probing == nil || s.Probing.Address != "127.0.0.1:9" {
		t.Errorf("%+v", s)
	}
	c.Close()
	if err := a.Run(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Error(err)
	}
}
