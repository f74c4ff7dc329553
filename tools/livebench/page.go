//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/chromedp/chromedp"
)

// page is the timeline's page in a browser.
type page struct{ tab context.Context }

// result is what the page says in the end.
type result struct {
	Marks   [][2]float64 `json:"marks"` // when each was emitted, and when it was seen: ms since 1970
	Emitted int          `json:"-"`
	Events  int64        `json:"events"`
	Chip    string       `json:"chip"`
	Work    struct {
		Frames             int
		Median, P99, Worst float64
	} `json:"work"`
}

func (p page) evaluate(script string) (bool, error) {
	return chromedp.Run(p.tab, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
}

// open waits until the page shows a mark.
func (p page) open(address string) error {
	if err := chromedp.Do(p.tab, chromedp.EmulateViewport(1600, 900), chromedp.Navigate(address)); err != nil {
		return err
	}
	ok, err := p.evaluate(`new Promise((done) => {
		const until = performance.now() + 30000;
		(function look() {
			const is = globalThis.meridian?.live?.following && meridian.about.classes.some((c) => c.name === "livebench:mark");
			if (is || performance.now() > until) done(Boolean(is)); else setTimeout(look, 50);
		})();
	})`)
	if err == nil && !ok {
		err = errors.New("the page does not follow a timeline with marks")
	}
	return err
}

// watch notes when each mark is seen from after a while on: at the frame after the one that drew it.
func (p page) watch(after time.Duration) error {
	script := `new Promise((done) => {
		const seen = globalThis.seenMarks = new Map(), lanes = new Set();
		globalThis.watching = false;
		const slices = () => meridian.about.rows.flatMap((r) => r.lanes.filter((l) => l.kind === "slices").map((l) => [r.host, l.lane]));
		meridian.on("redraw", () => {
			const { view, plot, data, about } = meridian, level = Math.max(0, Math.min(about.top, Math.floor(Math.log2((view.to - view.from) / plot.width))));
			const mark = about.classes.findIndex((c) => c.name === "livebench:mark"), width = 2 ** (level + 10), fresh = [];
			const looked = lanes.size ? slices().filter(([, lane]) => lanes.has(lane)) : slices();
			for (const [host, lane] of looked) for (let i = Math.floor((view.to - 3e9) / width); i <= Math.floor(view.to / width); i++) {
				const l = data.best(host, level, i)?.lanes.get(lane);
				if (l?.mode !== 1) continue;
				for (let k = l.n - 1; k >= 0; k--) {
					if (l.name[k] !== mark) continue;
					lanes.add(lane);
					if (seen.has(l.event[k])) break;
					if (l.at[k] < view.to) fresh.push(l.event[k]);
				}
			}
			for (const e of fresh) seen.set(e, globalThis.watching ? 0 : -1);
			if (fresh.length && globalThis.watching) requestAnimationFrame(() => { const now = performance.timeOrigin + performance.now(); for (const e of fresh) seen.set(e, now); });
		});
		setTimeout(() => { meridian.resetStats(); globalThis.watching = true; done(true); }, ` + jsonOf(after.Milliseconds()) + `);
	})`
	_, err := p.evaluate(script)
	return err
}

// result asks for the field of each mark that was seen.
func (p page) result() (*result, error) {
	text, err := chromedp.Run(p.tab, chromedp.Evaluate[string](`(async () => {
		globalThis.watching = false;
		const { frames, median, p99, worst } = meridian.stats(), events = meridian.about.events, chip = document.getElementById("chip").textContent;
		const marks = [], list = [...seenMarks].filter(([, at]) => at > 0);
		for (let i = 0; i < list.length; i += 8) {
			for (const [[e], at] of await Promise.all(list.slice(i, i + 8).map(async ([e, at]) => [await meridian.data.events(e, 1), at]))) {
				const field = e?.fields?.find(([name]) => name === "emitted");
				if (field) marks.push([Number(field[1]) / 1e6, at]);
			}
		}
		return JSON.stringify({ marks, events, chip, work: { Frames: frames, Median: median, P99: p99, Worst: worst } });
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		return nil, err
	}
	r := &result{}
	return r, json.Unmarshal([]byte(text), r)
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and texts
	}
	return string(text)
}
