//go:build !race

package view

import (
	"testing"
)

// TestWhatThePageConcludes runs what the page computes of answers by itself, where it must not say more than it can know.
func TestWhatThePageConcludes(t *testing.T) {
	b := startPanelBrowser(t)
	for _, rule := range []struct {
		name string
		test func(*testing.T)
	}{
		{"NoChainLeadsOverHostsWithoutClocksThatNothingConnects", b.NoChainLeadsOverHostsWithoutClocksThatNothingConnects},
		{"ChainsThatContradictEachOtherOrderNothing", b.ChainsThatContradictEachOtherOrderNothing},
		{"AnEventEndsWithTheStepOfItsStamp", b.AnEventEndsWithTheStepOfItsStamp},
	} {
		t.Run(rule.name, rule.test)
	}
}

// endsOf makes ends for scripts: of an event, a clock, a stamp and a component.
const endsOf = `const end = (event, clock, at, component = 0) => ({ event, clock, at, row: event, component, recorded: BigInt(at), low: at, high: at });`

func (b *panelBrowser) NoChainLeadsOverHostsWithoutClocksThatNothingConnects(t *testing.T) {
	l := b.load(t)
	// A on host 0, and later by the stamps a message from host 1 to 2: as recorded, no stamp of one host is after another's.
	got := value[[]bool](l, `(() => { `+endsOf+`
		const through = (a, sent, received, b) => Order.through(a, b, [{ sent, received }], () => 1) !== null;
		return [through(end(0, -1, 10, 0), end(1, -1, 20, 1), end(2, -1, 30, 2), end(3, -1, 40, 2)),
			through(end(0, -1, 10, 1), end(1, -1, 20, 1), end(2, -1, 30, 2), end(3, -1, 40, 2)),
			through(end(0, -1, 10, 1), end(1, -1, 20, 1), end(2, -1, 30, 2), end(3, -1, 40, 3))];
	})()`)
	if len(got) != 3 || got[0] || !got[1] || got[2] {
		t.Errorf("chains from an unconnected host, from the sender's own and to an unconnected one: %v", got)
	}
}

func (b *panelBrowser) ChainsThatContradictEachOtherOrderNothing(t *testing.T) {
	l := b.load(t)
	if got := value[string](l, `(async () => { `+endsOf+`
		App.about = { clocks: [0, 1].map(() => ({ granularity: 1, low: true, high: true })), rows: [] };
		App.bounds = () => ({ low: 0, high: 0 });
		App.hostOf = () => ({ component: 0 });
		const event = (event, clock, at, sent, received) => ({ event, clock, row: clock, at, recorded: String(at), flow: sent === undefined ? undefined : { sent, received } });
		// 1 sends to 2, that passes it on to 3, which is before 1 on its clock: one of the two is matched wrongly.
		const events = [event(0, 0, 5, 3, 0), event(1, 0, 10, 1, 2), event(2, 1, 20, 1, 2), event(3, 1, 30, 3, 0)];
		App.data = { events: async (from, count) => events.slice(from, from + count) };
		const found = await Order.ask(events[1], events[2]);
		return [found.answer, found.why, Order.sentence(found, ["x", "y"], String).includes("cannot be")].join(" ");
	})()`); got != "unknown contradiction true" {
		t.Errorf("two events of a circle of messages: %s", got)
	}
}

func (b *panelBrowser) AnEventEndsWithTheStepOfItsStamp(t *testing.T) {
	l := b.load(t)
	got := value[[]float64](l, `(() => {
		App.about = { clocks: [{ granularity: 1000, low: true, high: true }] };
		App.bounds = () => ({ low: 0, high: 5 });
		App.hostOf = () => ({ component: 0 });
		const ends = (event) => { const { low, high } = Order.endOf({ event: 0, row: 0, clock: 0, recorded: "1", ...event }); return [low, high]; };
		return [...ends({ at: 7000 }), ...ends({ at: 7000, low: 6000, high: 9000 }), ...ends({ at: 2 ** 55 + 8, low: 2 ** 55, high: 2 ** 55 + 16 })];
	})()`)
	want := []float64{7000, 7000 + 5 + 999, 6000, 9000, 1<<55 - 8, 1<<55 + 24}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("intervals %v, want %v", got, want)
		}
	}
}
