//go:build !race

package viewtest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// TestWhatThePageConcludes runs what the page computes of answers by itself, where it must not say more than it can know.
func TestWhatThePageConcludes(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"NoChainLeadsOverHostsWithoutClocksThatNothingConnects", b.NoChainLeadsOverHostsWithoutClocksThatNothingConnects},
		{"ChainsThatContradictEachOtherOrderNothing", b.ChainsThatContradictEachOtherOrderNothing},
		{"AnEventEndsWithTheStepOfItsStamp", b.AnEventEndsWithTheStepOfItsStamp},
		{"StampsOfAClockThatWasSetHaveNoOrder", b.StampsOfAClockThatWasSetHaveNoOrder},
		{"TheOrderOfTwoStampsIsThatOfTheFilter", b.TheOrderOfTwoStampsIsThatOfTheFilter},
		{"AnInvertedMessageIsInViewWhereItIs", b.AnInvertedMessageIsInViewWhereItIs},
		{"NoVerdictIsClaimedOfAMessageThatIsNotListed", b.NoVerdictIsClaimedOfAMessageThatIsNotListed},
		{"TablesOfRawTimeHoldWhatIsDrawn", b.TablesOfRawTimeHoldWhatIsDrawn},
		{"AHostIsNoSurerThanTheClockThatStampedItsEvents", b.AHostIsNoSurerThanTheClockThatStampedItsEvents},
		{"AnOrderThatMissedEventsSaysSo", b.AnOrderThatMissedEventsSaysSo},
		{"AChainGoesOverNoEventThatIsNotHeld", b.AChainGoesOverNoEventThatIsNotHeld},
		{"TilesAreCountedOnceHoweverOftenTheyCome", b.TilesAreCountedOnceHoweverOftenTheyCome},
		{"WhoWaitsForATileGetsItThoughTheViewMovesOn", b.WhoWaitsForATileGetsItThoughTheViewMovesOn},
		{"TilesThatAnAnswerHadNoRoomForAreAskedForAgain", b.TilesThatAnAnswerHadNoRoomForAreAskedForAgain},
		{"ATileWithTooManyLanesIsDrawnCoarser", b.ATileWithTooManyLanesIsDrawnCoarser},
		{"TilesThatFailedAreAskedForAgainAfterAWhile", b.TilesThatFailedAreAskedForAgainAfterAWhile},
	})
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

func (b *panelBrowser) StampsOfAClockThatWasSetHaveNoOrder(t *testing.T) {
	l := b.load(t)
	got := value[[]any](l, `(() => { `+endsOf+`
		App.about = { clocks: [{ set: true, component: 3 }, { component: 4 }, {}] };
		App.hostOf = () => ({ component: 0 });
		const wide = (e) => ({ ...e, low: e.at - 50, high: e.at + 50 }), a = wide(end(1, 0, 10)), b = wide(end(2, 0, 40)), c = wide(end(3, 0, 400));
		const told = (j) => [j.answer, j.why].join(" "), d = Relation.difference(a, b, 1);
		return [told(Order.judge(a, b)), told(Order.judge(a, c)), d.oneClock, d.low, d.high,
			Order.through(a, end(9, 1, 5), [{ sent: b, received: end(8, 1, 4) }], () => 1), Order.through(a, end(9, 1, 5), [{ sent: a, received: end(8, 1, 4) }], () => 1)?.length,
			[0, 1, 2].map((clock) => Order.componentOf(clock, 0)).join()];
	})()`)
	if s := fmt.Sprint(got); s != "[unknown intervals yes intervals false -70 130 <nil> 1 3,4,0]" {
		t.Errorf("two events of a clock that was set: %s", s)
	}
}

// What clocks say of two stamps is the same here and in the pairs of package filter.
func (b *panelBrowser) TheOrderOfTwoStampsIsThatOfTheFilter(t *testing.T) {
	l := b.load(t)
	examples, err := os.ReadFile("../../internal/filter/testdata/order.json")
	if err != nil {
		t.Fatal(err)
	}
	wrong := value[[]string](l, fmt.Sprintf(`(({ clocks, step, pairs }) => {
		App.about = { step, clocks: clocks.map((c) => ({ granularity: c.step, low: !c.unbounded, high: !c.unbounded, component: c.component ?? 0, set: Boolean(c.set) })) };
		App.bounds = (clock) => (clock < 0 ? { low: 0, high: 0 } : { low: clocks[clock].below ?? null, high: clocks[clock].above ?? null });
		App.hostOf = () => ({ component: 0 });
		return pairs.map(({ what, a, b, answer, margin }) => {
			const [x, y] = [a, b].map(([clock, at], event) => Order.endOf({ event, clock, at, row: 0, recorded: String(at) }));
			const got = Order.judge(x, y, { granularity: Order.granularityOf(x.clock) });
			return got.answer === answer && got.margin === (margin ?? null) ? "" : what + ": " + got.answer + " " + got.margin;
		}).filter(Boolean).concat(pairs.length < 20 ? "few examples" : []);
	})(%s)`, examples))
	for _, text := range wrong {
		t.Error(text)
	}
}

// A message that seems received before it was sent lies between the two, not behind its sending.
func (b *panelBrowser) AnInvertedMessageIsInViewWhereItIs(t *testing.T) {
	l := b.load(t)
	got := value[[]int](l, `(() => {
		const lane = { number: 7, mode: 3, n: 2, at: [100, 1000], delay: [-40, 30], event: [1, 2] }, tile = { lanes: new Map([[7, lane]]), from: 0, width: 1 };
		return [[0, 60], [50, 80], [61, 99], [100, 101], [101, 140], [990, 1001], [1031, 1100], [1030, 1031]].map(([from, to]) => { const list = []; Tables.collect(tile, from, to, new Map([[7, 0]]), list); return list.length; });
	})()`)
	if s := fmt.Sprint(got); s != "[0 1 1 1 0 1 0 1]" {
		t.Errorf("messages from 100 back to 60 and from 1000 to 1030, in view: %s", s)
	}
}

// fewListed is a scene of whose violations only the worst is listed.
type fewListed struct{ *scene }

func (s fewListed) Violations() *index.Violations {
	v := s.scene.Violations()
	v.List = slices.DeleteFunc(v.List, func(x index.Violation) bool { return x.Verdict != index.Certain })
	return v
}

// blind is one that has no tiles of messages either.
type blind struct{ fewListed }

func (s blind) Tile(group, level int, number int64) ([]byte, error) {
	if group == 3 {
		return []byte{1, 0}, nil
	}
	return s.fewListed.Tile(group, level, number)
}

// What is beyond the list is looked up in the tiles; and where these do not tell, nothing is claimed.
func (b *panelBrowser) NoVerdictIsClaimedOfAMessageThatIsNotListed(t *testing.T) {
	s := newScene("")
	for _, c := range []struct {
		data view.Data
		says map[[2]int]string // link and request
	}{
		{fewListed{s}, map[[2]int]string{{7, 30}: "▷ too fast", {8, 10}: "◇ undecidable", {10, 35}: "≈ within a step", {9, 20}: "◆ certain", {7, 3}: "✓ in order"}},
		{blind{fewListed{s}}, map[[2]int]string{{7, 30}: "? not listed", {8, 10}: "◇ undecidable", {7, 3}: "? not listed", {9, 20}: "◆ certain"}},
	} {
		p := b.serve(t, c.data, "light", "")
		p.panel("details")
		for which, want := range c.says {
			m := s.links[which[0]][which[1]]
			value[bool](p.logic, fmt.Sprintf(`(meridian.select(%d, "a"), true)`, m[1].number))
			p.until(fmt.Sprintf(`document.querySelector("#panel-details").innerText.includes("%d.%06d ms") && document.querySelector("#panel-details .verdict").textContent === %s`, m[1].at/1e6, m[1].at%1e6, literal(want)), fmt.Sprintf("of message %v something else is said than %s", which, want))
		}
		p.panel("violations")
		p.until(`document.querySelector("#panel-violations .said").textContent === "the worst 1 are listed"`, "that others are not listed is not said")
	}
}

// In raw time a row's events are in the tables when they are in sight, by the clock of each.
func (b *panelBrowser) TablesOfRawTimeHoldWhatIsDrawn(t *testing.T) {
	p := b.serve(t, setBack{newScene("")}, "light", "#v=1&raw=1&t=22400000,22930000&hosts=0,2")
	p.until(`meridian.view.raw`, "it is not raw")
	p.key("t")
	const times = `[...document.querySelectorAll("#panel-tables section[aria-label=Events] tbody th")].map((e) => e.textContent).join()`
	p.until(times+` === "+21.140000 ms,+21.150000 ms,+21.200000 ms,+21.505000 ms,+21.520000 ms,+21.625000 ms"`, "the events are others")
}

func (b *panelBrowser) AnOrderThatMissedEventsSaysSo(t *testing.T) {
	l := b.load(t)
	got := value[[]bool](l, `(async () => {
		App.about = { clocks: [], rows: [], events: 1500 };
		App.bounds = () => ({ low: 0, high: 0 });
		App.hostOf = (row) => ({ component: row });
		const all = Array.from({ length: 1500 }, (_, event) => ({ event, clock: -1, row: event % 2, at: event, recorded: String(event) }));
		const asked = async (held) => { App.data = { events: async (from, count) => all.slice(from, from + count).filter(held) }; return (await Order.ask(all[100], all[1401])).far; };
		return [await asked(() => true), await asked((e) => e.event !== 700)];
	})()`)
	if len(got) != 2 || got[0] || !got[1] {
		t.Errorf("events missed among all, and where one cannot be had: %v", got)
	}
}

func (b *panelBrowser) AHostIsNoSurerThanTheClockThatStampedItsEvents(t *testing.T) {
	p := b.serve(t, twoClocks{newScene("")}, "light", viewed)
	p.until(`document.querySelector("#line-h2 .bound").textContent === "±7 ms"`, "beside a host stands the bound of its surer clock")
}

// twoClocks is a scene in which the last row has a clock of its own.
type twoClocks struct{ *scene }

func (s twoClocks) About() *index.About {
	a := s.scene.About()
	r := &a.Rows[len(a.Rows)-1]
	second := a.Clocks[r.Clock]
	second.Corners = []index.Corner{{At: 0, Below: 7_000_000, Above: 7_000_000}}
	r.Clock = len(a.Clocks)
	a.Clocks = append(a.Clocks, second)
	return a
}

func (b *panelBrowser) AChainGoesOverNoEventThatIsNotHeld(t *testing.T) {
	l := b.load(t)
	// A file holds events 0 to 3 and 8 to 11 of 12, in blocks of 4; 9 was received from 2, and 3 is behind a gap.
	got := value[[]any](l, `(async () => {
		const all = Array.from({ length: 12 }, (_, event) => ({ event, row: 0, at: event, flow: event === 2 || event === 9 ? { sent: 2, received: 9 } : null }));
		const held = all.filter((e) => e.event < 4 || e.event > 7);
		const source = Chain.scanner(async (from, count) => held.filter((e) => e.event >= from && e.event < from + count), 12, () => 0, { block: 12 });
		return [(await source.other(all[9])).event, (await source.other(all[2])).event, (await source.before(all[10])).event, await source.before(all[8]), await source.after(all[3])];
	})()`)
	if s := fmt.Sprint(got); s != "[2 9 9 <nil> <nil>]" {
		t.Errorf("the other ends, and the next over a gap: %s", s)
	}
}

// served answers what the page asks of tiles: all are the same. Its answers come when they are let go.
const served = `
	App.redraw = () => {};
	const asked = [];
	let heed = false; // signals
	globalThis.fetch = (url, { signal } = {}) => new Promise((resolve, reject) => {
		if (url.startsWith("api/about")) return resolve({ ok: true, json: async () => ({ origin: "0", top: 4, hosts: [] }) });
		const keys = new URL(url, "http://x").searchParams.get("keys").split(",");
		const answer = new Uint8Array(keys.flatMap(() => [tile.length % 256, tile.length >> 8, 0, 0, ...tile]));
		if (heed) signal?.addEventListener("abort", () => reject(new DOMException("called off", "AbortError")));
		asked.push({ keys, go: () => resolve({ ok: true, arrayBuffer: async () => answer.buffer }), fail: () => reject(new TypeError("network")) });
	});
	const later = () => new Promise((resolve) => setTimeout(resolve));`

func (b *panelBrowser) TilesAreCountedOnceHoweverOftenTheyCome(t *testing.T) {
	l := b.load(t)
	timeline := twoHosts(t, "", 5000, indextest.Plain)
	tile, err := timeline.Tile(0, timeline.Index.About().Top, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.DecodeTile(tile, timeline.Index.About().Top, 0); err != nil || len(tile) < 1000 {
		t.Fatalf("a tile of %d bytes, %v", len(tile), err)
	}
	got := value[[]float64](l, fmt.Sprintf(`(async () => { const tile = %s;`, literal(numbersOf(tile)))+served+`
		await Data.open();
		for (const keys of [["0.1.0"], ["0.1.1"], ["0.1.0"], ["0.1.1", "0.1.0"]]) Data.want(keys, []);
		for (const one of asked) one.go();
		await later();
		while (Data.work(Infinity)) await later();
		const sizes = ["0.1.0", "0.1.1"].map((key) => Data.get(key).size);
		const lists = [...Data.get("0.1.0").lanes.values()].flatMap((lane) => Object.values(lane)).filter(ArrayBuffer.isView);
		return [asked.length, Data.memory().bytes, sizes[0] + sizes[1], lists.reduce((n, list) => n + list.byteLength, 0)];
	})()`)
	if len(got) != 4 || got[0] < 3 || got[1] != got[2] || got[3] <= float64(len(tile)) || got[2] < 2*got[3] {
		t.Errorf("asked %v times, counted %v bytes of %v, which are arrays of %v at least", got[0], got[1], got[2], got[3])
	}
}

func (b *panelBrowser) WhoWaitsForATileGetsItThoughTheViewMovesOn(t *testing.T) {
	l := b.load(t)
	if got := value[string](l, `(async () => { const tile = [1, 0];`+served+`
		heed = true;
		await Data.open();
		Data.want(["0.1.0"], []);
		let came = "nothing";
		Data.load(0, 1, 0).then((tile) => { came = tile.key; });
		await later();
		Data.want(["0.1.1"], []);
		for (const one of asked) one.go();
		await later();
		Data.work(Infinity);
		await later();
		return came;
	})()`); got != "0.1.0" {
		t.Errorf("%s came", got)
	}
}

func (b *panelBrowser) TilesThatAnAnswerHadNoRoomForAreAskedForAgain(t *testing.T) {
	l := b.load(t)
	got := value[string](l, `(async () => { const tile = [1, 0];`+served+`
		await Data.open();
		// The first tile of each answer is there, of the others only the length.
		const slow = globalThis.fetch;
		globalThis.fetch = async (url, more) => {
			const answer = await slow(url, more), n = url.includes("keys") ? new URL(url, "http://x").searchParams.get("keys").split(",").length : 0;
			return n ? { ok: true, arrayBuffer: async () => new Uint8Array([2, 0, 0, 0, 1, 0, ...Array(4 * (n - 1)).fill(0)]).buffer } : answer;
		};
		let came = "";
		Data.tiles(["0.1.0", "0.1.1"]);
		Promise.all([Data.load(0, 1, 0), Data.load(0, 1, 1)]).then((all) => { came = all.map((tile) => tile.key).join(); });
		for (let i = 0; i < 40 && !came; i++) { for (const one of asked) one.go(); await later(); while (Data.work(Infinity)) await later(); }
		return asked.map((one) => one.keys.join("+")).join(" ") + ": " + came;
	})()`)
	if got != "0.1.0+0.1.1 0.1.1: 0.1.0,0.1.1" {
		t.Errorf("asked for %s", got)
	}
}

// A tile of bins twice as long says so, and all that is drawn of it is where it is.
func (b *panelBrowser) ATileWithTooManyLanesIsDrawnCoarser(t *testing.T) {
	l := b.load(t)
	got := value[[]any](l, `(() => {
		// Two bins of instants, 3 and 5 of 256 that are 4 times as long.
		const tile = new Decode.Tile("0.4.2", new Uint8Array([2 << 1, 1, 1, 4, 2, 4, 7, 0, 2, 9, 0]));
		tile.step(Infinity);
		const { at, count } = tile.lanes.get(0), sum = Decode.density(tile);
		return [tile.width, tile.from, tile.to, [...at].join(), [...count].join(), sum.count[3], sum.count[5], tile.final, tile.lacks, new Decode.Tile("0.4.2", new Uint8Array([32 | 10 << 1, 0])).lacks];
	})()`)
	if s := fmt.Sprint(got); s != "[64 32768 49152 3,5 7,9 7 9 false false true]" {
		t.Errorf("the tile is %s", s)
	}
}

func (b *panelBrowser) TilesThatFailedAreAskedForAgainAfterAWhile(t *testing.T) {
	l := b.load(t)
	got := value[[]any](l, `(async () => { const tile = [1, 0];`+served+`
		let now = 1000;
		performance.now = () => now;
		await Data.open();
		Data.want(["0.1.0"], []);
		asked[0].fail();
		await later();
		Data.want(["0.1.0"], []);
		const soon = asked.length;
		now += 60000;
		Data.want(["0.1.0"], []);
		asked[1]?.go();
		await later();
		Data.work(Infinity);
		return [soon, asked.length, Data.get("0.1.0") !== null];
	})()`)
	if s := fmt.Sprint(got); s != "[1 2 true]" {
		t.Errorf("asked at once, asked after a minute, is there: %s", s)
	}
}

func numbersOf(b []byte) (out []int) {
	for _, x := range b {
		out = append(out, int(x))
	}
	return out
}
