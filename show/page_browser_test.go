package show

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func few() synthetic {
	return synthetic{hosts: 3, messages: 100, span: 20e6, delay: 150e3, inverted: 3, width: 40e3, seed: 1}
}

func TestPageShowsARowPerHost(t *testing.T) {
	b := open(t, few().timeline(), 1280, 720, "dark")
	b.shot("few-dark")
	if got := b.eval(`[...document.querySelectorAll(".host .name")].map(e => e.textContent)`); got != "host-00,host-01,host-02" {
		t.Errorf("rows %q", got)
	}
	if got := b.eval(`document.getElementById("totals").textContent`); !strings.Contains(got, "200 events") || !strings.Contains(got, "3 inversions") {
		t.Errorf("totals %q", got)
	}
	b.key("r")
	b.shot("few-report")
	b.key("r")
	b.key("?")
	b.shot("few-help")
}

func TestWheelZoomsAtThePointerAndDraggingMoves(t *testing.T) {
	b := open(t, few().timeline(), 1280, 720, "light")
	const x, y = 700, 330
	at := func() float64 {
		left := b.number(`document.getElementById("plot").getBoundingClientRect().left`)
		width := b.number(`document.getElementById("plot").getBoundingClientRect().width`)
		return b.number(viewFrom) + (x-left)/width*b.number(viewLength)
	}
	length, under := b.number(viewLength), at()
	for range 5 {
		b.wheel(x, y, -240)
	}
	if zoomed := b.number(viewLength); zoomed > length/5 {
		t.Errorf("the view went from %v to %v ns", length, zoomed)
	}
	if moved := math.Abs(at() - under); moved > b.number(viewLength)/500 {
		t.Errorf("the instant under the pointer moved by %v ns", moved)
	}
	from := b.number(viewFrom)
	b.drag(x, y, x-200, y, 0)
	if moved := b.number(viewFrom) - from; math.Abs(moved/b.number(viewLength)-200/b.number(`document.getElementById("plot").clientWidth`)) > 0.01 {
		t.Errorf("dragging by 200 pixels moved the view by %v of %v ns", moved, b.number(viewLength))
	}
	b.shot("few-light-zoomed")
	from = b.number(viewFrom)
	b.key("\u0303") // right
	if b.number(viewFrom) <= from {
		t.Error("the right arrow did not move the view")
	}
	b.key("0")
	if got := b.number(viewLength); math.Abs(got-length) > 1 {
		t.Errorf("0 shows %v ns, all is %v", got, length)
	}
}

func TestEveryRowSaysTheBoundAtTheCursor(t *testing.T) {
	b := open(t, few().timeline(), 1280, 720, "dark")
	b.mouse(chromedp.MouseMoved, 800, 350)
	b.shot("few-cursor")
	got := b.eval(`[...document.querySelectorAll(".host .here")].map(e => e.textContent).join("|")`)
	figures := strings.Split(got, "|")
	if len(figures) != 3 || figures[0] != "exact" {
		t.Fatalf("figures %q", got)
	}
	for _, f := range figures[1:] {
		if !strings.Contains(f, "−") || !strings.Contains(f, "… +") || !strings.Contains(f, "µs") {
			t.Errorf("figure %q", f)
		}
	}
	if now := b.eval(`document.getElementById("now").textContent`); !strings.HasPrefix(now, "2023-11-14 22:13:20.") {
		t.Errorf("the cursor's time is %q", now)
	}
}

func TestTheNextInversionIsOneKeyAway(t *testing.T) {
	b := open(t, few().timeline(), 1280, 720, "dark")
	seen := make(map[string]bool)
	for range 4 {
		b.key("n")
		tip := b.eval(`document.getElementById("tip").innerText`)
		if !strings.Contains(tip, "inversion") || !strings.Contains(tip, "delay") || b.eval(`document.getElementById("tip").className`) != "inverted" {
			t.Errorf("the tip says %q", tip)
		}
		if inverted := b.number(`document.getElementById("stage").dataset.inverted`); inverted < 1 {
			t.Error("no inversion is in view")
		}
		seen[tip] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d of 3 inversions came up", len(seen))
	}
	b.shot("few-inversion")
}

func TestAMeasuredSpanSaysHowSureItIs(t *testing.T) {
	b := open(t, few().timeline(), 1280, 720, "dark")
	b.drag(500, 200, 900, 400, chromedp.ModifierShift)
	b.shot("few-measured")
	got := b.eval(`document.getElementById("found").textContent`)
	if !strings.HasPrefix(got, "span ") || !strings.Contains(got, "truly ") || !strings.Contains(got, "order is certain") {
		t.Errorf("measured %q", got)
	}
}

func TestHoveringAnEventDescribesIt(t *testing.T) {
	timeline := few().timeline()
	stamps := make(map[string]bool)
	for _, at := range timeline.Rows[1].Events {
		stamps[time.Unix(0, timeline.Rows[1].Map.At(at)).UTC().Format("2006-01-02 15:04:05.000000000 UTC")] = true
	}
	b := open(t, timeline, 1280, 720, "dark")
	// Somewhere along the middle row there is an event.
	for x := 300.0; x < 1270; x += 3 {
		b.mouse(chromedp.MouseMoved, x, b.number(`(r => r.top + r.height / 2)(document.querySelectorAll(".host")[1].getBoundingClientRect())`))
		if tip := b.eval(`document.getElementById("tip").innerText`); strings.Contains(tip, "packet ") && strings.Contains(tip, "within") {
			b.shot("few-hover")
			if at := b.eval(`document.querySelectorAll("#tip .value")[1].textContent`); !stamps[at] {
				t.Errorf("no event of the row happened at %q", at)
			}
			return
		}
	}
	t.Error("no event was described")
}

func TestHostileNamesDoNoHarm(t *testing.T) {
	timeline := few().timeline()
	timeline.Title = `</title><script>document.title="pwned"</script>`
	names := []string{
		`</script><script>document.body.innerHTML="pwned"</script>`,
		`<img src=x onerror="document.body.innerHTML='pwned'">"'` + "`${1}",
		"\u202eevil\u2066 مضيف -->]]><!--\x00\u2028 " + strings.Repeat("long", 100),
	}
	for i, name := range names {
		timeline.Report.Hosts[i].Name = name
		timeline.Report.Pairs[0].A = name
		timeline.Report.Warnings = append(timeline.Report.Warnings, name)
		timeline.Rows[i].Describe = func(int) string { return name }
	}
	b := open(t, timeline, 1280, 720, "light")
	b.key("n")
	b.key("r")
	b.shot("hostile")
	openClocks(b)
	b.shot("hostile-clocks")
	if got := b.eval(foreign); got != "" {
		t.Errorf("the pictures have %s", got)
	}
	if got := b.eval(`document.querySelector("#pictures svg").getAttribute("aria-label")`); !strings.HasPrefix(got, names[1]) {
		t.Errorf("the first picture is named %q", got)
	}
	if got := b.eval(`document.querySelectorAll("script").length + " " + document.querySelectorAll("img").length`); got != "2 0" {
		t.Errorf("scripts and images: %s", got)
	}
	if got := b.eval(`document.querySelector(".host .name").textContent`); got != names[0] {
		t.Errorf("the first row is named %q", got)
	}
	if got := b.eval(`document.body.textContent.startsWith("pwned") || document.title === "pwned"`); got != "false" {
		t.Error("a name ran")
	}
}

func TestLargeTimelinesStayQuickAndSayWhatTheyLeaveOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      synthetic
		leaves bool
		w, h   int64
	}{
		{"pair-100k", synthetic{hosts: 2, messages: 50_000, span: 60e9, delay: 200e3, inverted: 20, width: 30e3, seed: 2}, false, 1280, 720},
		{"dozen-1M", synthetic{hosts: 12, messages: 500_000, span: 600e9, delay: 200e3, inverted: 40, width: 300e3, seed: 3}, true, 1280, 720},
		{"fifty", synthetic{hosts: 50, messages: 3_000, span: 2e9, delay: 1e6, width: 3e6, seed: 4}, false, 1280, 720},
		{"narrow", synthetic{hosts: 5, messages: 300, span: 2e9, delay: 10e6, width: 3e6, inverted: 1, start: 5e9, seed: 5}, false, 420, 800},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.s.timeline(), c.w, c.h, "dark")
			b.shot(c.name)
			notice := b.eval(`document.getElementById("notice").textContent`)
			if (notice != "") != c.leaves {
				t.Errorf("the notice says %q", notice)
			}
			x := float64(c.w) * 0.6
			b.mouse(chromedp.MouseMoved, x, 300)
			b.shot(c.name + "-cursor")
			b.wheel(x, 300, -10)
			// It takes some 20 ms; the limit only tells a frame that depends on pixels from one that depends on events.
			if ms := b.number(`document.getElementById("stage").dataset.ms`); ms > 1000 {
				t.Errorf("a frame of all took %v ms", ms)
			}
			for range 6 {
				b.wheel(x, 300, -240)
			}
			b.shot(c.name + "-zoomed")
			if c.s.inverted > 0 {
				b.key("n")
				b.shot(c.name + "-inversion")
			}
			if overlap := b.eval(overlapping); overlap != "" {
				t.Errorf("text overlaps: %s", overlap)
			}
		})
	}
}

// overlapping names two pieces of text of the header column or the bars that cover each other.
const overlapping = `(() => {
  const boxes = [...document.querySelectorAll("header *, .host span, #corner span, #status output, summary span, #notice")]
    .filter(e => !e.querySelector("span, li, b, button") && e.textContent.trim())
    .map(e => {
      const r = e.getBoundingClientRect(), view = e.closest("#scroll")?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
      return [e, { left: r.left, right: r.right, top: Math.max(r.top, view.top), bottom: Math.min(r.bottom, view.bottom) }];
    }).filter(([, r]) => r.right > r.left && r.bottom > r.top);
  for (const [a, p] of boxes) for (const [b, q] of boxes)
    if (a !== b && !a.contains(b) && !b.contains(a) && p.left + 1 < q.right && q.left + 1 < p.right && p.top + 1 < q.bottom && q.top + 1 < p.bottom)
      return a.textContent + " / " + b.textContent;
  return "";
})()`

func TestClocksAreDrawnWhenSomebodyLooks(t *testing.T) {
	timeline := few().timeline()
	for i := range timeline.Rows {
		r := &timeline.Rows[i]
		for _, at := range r.Events {
			if r.First == 0 {
				r.First, r.Last = at, at
			}
			r.First, r.Last = min(r.First, at), max(r.Last, at)
		}
	}
	timeline.Report.Hosts[1].Name = hostile
	b := open(t, timeline, 1280, 900, "light")
	const figures = `document.querySelectorAll("#pictures figure").length`
	if n := b.number(figures); n != 0 {
		t.Errorf("%v pictures before anybody looked", n)
	}
	b.run(chromedp.Click("#clocks > summary"), chromedp.WaitReady("#clocks[data-ready=true]"))
	// A picture for each host beside the reference, and for each pair.
	pairs := make(map[[2]int]bool)
	for _, c := range timeline.Channels {
		pairs[[2]int{min(c.From, c.To), max(c.From, c.To)}] = true
	}
	if n := b.number(figures); n != float64(len(timeline.Rows)-1+len(pairs)) {
		t.Errorf("%v pictures of %d rows and %d pairs", n, len(timeline.Rows), len(pairs))
	}
	if n := b.number(`document.querySelectorAll("#pictures script, #pictures img, #pictures foreignObject").length`); n != 0 {
		t.Errorf("%v elements that no picture has", n)
	}
	if got := b.eval(`[...document.querySelectorAll("#pictures text")].map(e => e.textContent).join("|")`); !strings.Contains(got, "<") {
		t.Errorf("the hostile name is not in the texts %q", got)
	}
	b.shot("few-clocks")
}

func openClocks(b *browser) {
	b.t.Helper()
	b.key("c")
	b.run(chromedp.WaitVisible(`#clocks[data-ready="true"] svg.plot`), b.settle())
}

// foreign names what is in the pictures beside shapes and text, and attributes that could do more than place them.
const foreign = `[...document.querySelectorAll("#pictures figure *")]
  .flatMap(e => [e.localName, ...[...e.attributes].map(a => "@" + a.name)])
  .filter(n => !["svg", "rect", "path", "text", "@class", "@role", "@aria-label", "@viewBox", "@x", "@y", "@width", "@height", "@d",
    "@text-anchor", "@transform"].includes(n)).join(" ")`

func TestClocksOpenToPicturesOfHostsAndPairs(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		timeline := synthetic{hosts: 4, messages: 4000, span: 600e9, delay: 20e3, width: 40e3, seed: 6}.timeline()
		b := open(t, timeline, 1280, 900, scheme)
		if got := b.eval(`document.getElementById("clocks").open + " " + document.querySelectorAll("#pictures *").length`); got != "false 0" {
			t.Errorf("before anybody looked: %s", got)
		}
		openClocks(b)
		b.shot("clocks-" + scheme)
		if got := b.eval(`[...document.querySelectorAll("#pictures svg.plot[role=img]")].map(e => e.getAttribute("aria-label")).join("|")`); got !=
			"host-01 against host-00|host-02 against host-00|host-03 against host-00|host-01 and host-03|host-01 and host-02|host-02 and host-03|"+
				"host-00 and host-02|host-00 and host-01|host-00 and host-03" {
			t.Errorf("pictures %s", got)
		}
		if got := b.eval(foreign); got != "" {
			t.Errorf("the pictures have %s", got)
		}
		// Lines have the colours of the scheme, so the style is in force.
		want := map[string]string{"light": "rgb(0, 114, 178)", "dark": "rgb(86, 180, 233)"}[scheme]
		if got := b.eval(`getComputedStyle(document.querySelector("#pictures path.there")).stroke`); got != want {
			t.Errorf("messages are %s, not %s", got, want)
		}
		if got := b.eval(`(s => s.clientHeight > 250 && s.scrollHeight > s.clientHeight)(document.getElementById("pictures"))`); got != "true" {
			t.Error("the pictures have no room to scroll in")
		}
		b.eval(`document.querySelectorAll("#pictures figure")[3].scrollIntoView()`)
		b.shot("clocks-pair-" + scheme)
		b.key("r") // one at a time: the timeline keeps its room
		if got := b.eval(`document.getElementById("clocks").open + " " + document.getElementById("report").open`); got != "false true" {
			t.Errorf("with the report open: %s", got)
		}
		if overlap := b.eval(overlapping); overlap != "" {
			t.Errorf("text overlaps: %s", overlap)
		}
	}
}
