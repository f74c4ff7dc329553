package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// Where things are on the page, by its own measure.
type places struct {
	Left, Top, Width, Height float64 // of the plot
	MapTop, MapWidth         float64
}

// move zooms and pans as people do, by wheel, drag and keys, and notes what each frame cost.
func (b *bench) move(ctx context.Context, f *figures) error {
	at, err := evaluate[places](ctx, `(() => { const p = meridian.plot, m = document.getElementById("minimap").getBoundingClientRect();
		return { left: p.left, top: p.top, width: p.width, height: p.height, mapTop: m.top + m.height / 2, mapWidth: m.width }; })()`)
	if err != nil {
		return err
	}
	h := &hand{ctx: ctx, at: at, random: rand.New(rand.NewPCG(5, 6))}
	if err := h.moveTo(at.Left+at.Width/2, at.Top+at.Height/2); err != nil {
		return err
	}
	if _, err := evaluate[bool](ctx, `(meridian.resetStats(), seen.between = [], true)`); err != nil {
		return err
	}
	busy, err := b.processor(ctx)
	if err != nil {
		return err
	}
	worst := 0.0
	for i := range b.moves {
		what, err := h.next(i)
		if err != nil {
			return fmt.Errorf("move %d, %s: %w", i, what, err)
		}
		rest, err := evaluate[bool](ctx, b.rest)
		if err != nil {
			return err
		}
		if !rest {
			f.failed = append(f.failed, fmt.Sprintf("after move %d, %s, the page does not come to rest", i, what))
		}
		one, err := evaluate[struct {
			Times  []float64
			Length float64
		}](ctx, `(() => { const { times } = meridian.stats(); meridian.resetStats(); return { times, length: meridian.view.to - meridian.view.from }; })()`)
		if err != nil {
			return err
		}
		now, err := b.processor(ctx)
		if err != nil {
			return err
		}
		if n := len(one.Times); n > 0 {
			f.processor = append(f.processor, (now-busy)*1000/float64(n))
		}
		busy = now
		if b.verbose {
			fmt.Printf("move %d, %s: %d frames, longest %.1f ms, %.3g s in sight, at rest %v\n", i, what, len(one.Times), slices.Max(append(one.Times, 0)), one.Length/1e9, rest)
		}
		if len(one.Times) == 0 && what != "scroll" {
			f.failed = append(f.failed, fmt.Sprintf("move %d, %s, drew no frame", i, what))
		}
		for _, ms := range one.Times {
			if ms > worst {
				worst, f.worst = ms, fmt.Sprintf("in move %d, %s, %.3g s in sight", i, what, one.Length/1e9)
			}
		}
		f.work = append(f.work, one.Times...)
		if (i+1)%20 == 0 {
			if err := b.shot(ctx, fmt.Sprintf("%s-%d", f.name, i+1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// processor is for how many seconds the page's main thread has had a processor: unlike the wall clock, it does not tell
// how much else the machine does.
func (b *bench) processor(ctx context.Context) (float64, error) {
	got, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value, nil
		}
	}
	return 0, errors.New("the browser does not report how long the page's thread ran")
}

// hand is what moves the pointer and presses keys.
type hand struct {
	ctx    context.Context
	at     places
	random *rand.Rand
	depth  int // how often it zoomed in more than out
}

// next makes one move: zooms go down to some microseconds and up again, with pans at every scale.
func (h *hand) next(i int) (what string, err error) {
	r := h.random
	x, y := h.at.Left+h.at.Width*(0.1+0.8*r.Float64()), h.at.Top+h.at.Height*(0.1+0.8*r.Float64())
	in := r.IntN(24) >= h.depth
	switch i % 100 {
	case 50: // all hosts are in sight, and what goes between them
		return "fold all", chromedp.Do(h.ctx, chromedp.KeyEvent("F"))
	case 80:
		return "unfold all", chromedp.Do(h.ctx, chromedp.KeyEvent("U"))
	}
	switch i % 10 {
	case 0, 5:
		way := -1.0
		if !in {
			way = 1
		}
		h.depth -= 3 * int(way)
		return "wheel zoom", h.wheel(x, y, way*240, 3, chromedp.ModifierCtrl)
	case 1, 6:
		return "drag", h.drag(x, y, x+(r.Float64()-0.5)*h.at.Width*0.8, y)
	case 2:
		key := "+"
		if !in {
			key = "-"
		}
		h.depth++
		return "key " + key, chromedp.Do(h.ctx, chromedp.KeyEvent(key))
	case 3:
		return "wheel pan", h.wheel(x, y, (r.Float64()-0.5)*1200, 3, chromedp.ModifierShift)
	case 4:
		key := string("wasd"[r.IntN(4)])
		return "hold " + key, h.hold(key)
	case 7:
		key := "\u0302" // left
		if r.IntN(2) == 0 {
			key = "\u0303"
		}
		return "arrow", chromedp.Do(h.ctx, chromedp.KeyEvent(key))
	case 8:
		return "scroll", h.wheel(x, y, (r.Float64()-0.4)*2000, 3, 0)
	default:
		if i%40 == 39 {
			h.depth = 0
			return "show all", chromedp.Do(h.ctx, chromedp.KeyEvent("0"))
		}
		from := h.at.MapWidth * r.Float64()
		return "minimap", h.drag(from, h.at.MapTop, from+(r.Float64()-0.5)*300, h.at.MapTop)
	}
}

func (h *hand) mouse(kind input.DispatchMouseEventType, x, y float64, change func(*input.DispatchMouseEventParams)) error {
	return chromedp.Do(h.ctx, chromedp.MouseEvent(kind, x, y, change))
}

func (h *hand) moveTo(x, y float64) error {
	return h.mouse(chromedp.MouseMoved, x, y, func(*input.DispatchMouseEventParams) {})
}

func (h *hand) wheel(x, y, by float64, times int, modifier chromedp.Modifier) error {
	if err := h.moveTo(x, y); err != nil {
		return err
	}
	for range times {
		if err := h.mouse(chromedp.MouseWheel, x, y, func(e *input.DispatchMouseEventParams) {
			e.DeltaX, e.DeltaY, e.Modifiers = 0.01, by, int64(modifier) // a zero would not be sent, and is missed
		}); err != nil {
			return err
		}
	}
	return nil
}

// drag goes in ten steps, as a hand does in a sixth of a second.
func (h *hand) drag(x0, y0, x1, y1 float64) error {
	if err := h.moveTo(x0, y0); err != nil {
		return err
	}
	press := func(e *input.DispatchMouseEventParams) {
		e.Button, e.ClickCount, e.Buttons = input.MouseButtonLeft, 1, 1
	}
	if err := h.mouse(chromedp.MousePressed, x0, y0, press); err != nil {
		return err
	}
	for i := range 10 {
		p := float64(i+1) / 10
		if err := h.mouse(chromedp.MouseMoved, x0+(x1-x0)*p, y0+(y1-y0)*p, func(e *input.DispatchMouseEventParams) {
			e.Button, e.Buttons = input.MouseButtonLeft, 1
		}); err != nil {
			return err
		}
	}
	return h.mouse(chromedp.MouseReleased, x1, y1, func(e *input.DispatchMouseEventParams) { e.Button, e.ClickCount = input.MouseButtonLeft, 1 })
}

// hold holds a key for a dozen frames.
func (h *hand) hold(key string) error {
	code := "Key" + string(key[0]-'a'+'A')
	send := func(kind input.DispatchKeyEventType) error {
		return call(h.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Code: code, WindowsVirtualKeyCode: int64(key[0] - 'a' + 'A')})
	}
	if err := send(input.DispatchKeyEventTypeKeyDown); err != nil {
		return err
	}
	if _, err := evaluate[bool](h.ctx, `new Promise((done) => { let n = 12; requestAnimationFrame(function each() { if (n-- > 0) requestAnimationFrame(each); else done(true); }); })`); err != nil {
		return err
	}
	return send(input.DispatchKeyEventTypeKeyUp)
}
