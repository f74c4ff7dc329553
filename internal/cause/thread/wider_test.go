package thread

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
	"meridian/internal/testseed"
)

const contradiction = "the bounds are wrong"

// answers returns the item that each request's blame names alone; "" for none.
func answers(s *script, bound int64) (out []string, cuts int) {
	w, set := s.play(func(int, int64) cause.Bounds { return cause.Bounds{Below: bound, Above: bound, Known: true} })
	for _, r := range set.Requests() {
		pieces, known := w.Path(&r)
		if !known {
			out = append(out, "")
			continue
		}
		for _, p := range pieces {
			if len(p.Less) > 0 || p.State == cause.Undecided {
				cuts++
			}
		}
		b := w.model.Sum(pieces)
		name, is := decided(b)
		switch {
		case b.Contradiction:
			name = contradiction
		case !is:
			name = ""
		}
		out = append(out, name)
	}
	return out, cuts
}

// The path itself depends on the bounds where it is cut: what was asked before a wait began counts as far as the wait is long.
func TestWiderBoundsNeverDecideWhatWasOpenOnThreads(t *testing.T) {
	t.Parallel()
	walked, cut, opened := 0, 0, 0
	testseed.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		bound := rapid.Int64Range(0, 60_000).Draw(t, "bound")
		wider := bound + rapid.Int64Range(1, 200_000).Draw(t, "wider by")
		narrow, cuts := answers(s, bound)
		wide, _ := answers(s, wider)
		cut += cuts
		for i := range narrow {
			if narrow[i] == contradiction { // which wider bounds may mend
				continue
			}
			walked++
			if narrow[i] != wide[i] {
				opened++
			}
			if wide[i] != "" && wide[i] != narrow[i] {
				t.Fatalf("request %d: with bounds of %d ns it is %q, with %d ns %q", i, bound, narrow[i], wider, wide[i])
			}
		}
	})
	t.Logf("%d requests, %d pieces cut, %d answers opened by wider bounds", walked, cut, opened)
}

// drawCut makes a request that waits for a thread which had asked the database before, which sleeps and computes by turns.
func drawCut(t *rapid.T) *script {
	length := func(name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, name) }
	there, back := length("there", 400), length("back", 400)
	at := 510 + there
	inner := &script{sent: make(map[string]*wire.Packet)}
	inner.switchTo(2, 10, 0, db1, 0)
	inner.call(2, 20, at+40, db1, "recvfrom", 0, 16)
	inner.switchTo(2, 30, db1, 0, 1)
	inner.packet(1, 2, 510, at, 1, 16, 1, "")
	inner.wrote(1, 2, 515, holder, 1, 16)
	inner.soft(2, at-1, at+5)
	inner.wake(2, at+2, db1, 0, InSoftIRQ)
	at += 30
	inner.switchTo(2, at, 0, db1, 0)
	for range rapid.IntRange(1, 3).Draw(t, "turns") {
		at += length("computes", 3000)
		sleep := length("sleeps", 3000)
		inner.call(2, at, at+sleep+20, db1, "nanosleep", 0, 0)
		inner.switchTo(2, at+2, db1, 0, 1)
		inner.wake(2, at+sleep, db1, 0, InHardIRQ)
		inner.switchTo(2, at+sleep+10, 0, db1, 0)
		at += sleep + 20
	}
	at += length("computes", 3000)
	at = max(at, 1300-back) // the wait begins before the reply comes
	inner.packet(2, 1, at, at+back, 1, 16, 17, "")
	inner.wrote(2, 1, at+2, db1, 1, 16)
	at += back
	inner.soft(1, at-1, at+5)
	inner.on(1, 520, func(_ *World, h *Host, _ *wire.Set) {
		h.Enter(520, holder, "recvfrom", 0)
		h.Switch(525, 1, holder, 0, 1, true, true)
	})
	inner.wake(1, at+2, holder, 0, InSoftIRQ)
	inner.on(1, at+20, func(_ *World, h *Host, _ *wire.Set) { h.Switch(at+20, 1, 0, holder, 0, true, true) })
	inner.on(1, at+22, func(_ *World, h *Host, _ *wire.Set) { h.Leave(at+22, holder, 16) })
	inner.call(1, 1200, at+60, server1, "futex", 7, 0)
	inner.switchTo(1, 1210, server1, 0, 1)
	inner.wake(1, at+40, server1, holder, InThread)
	inner.switchTo(1, at+50, 0, server1, 0)
	s := asked(at + 100 + length("computes at last", 6000))
	s.events = append(s.events, inner.events...)
	return s
}

func TestWiderBoundsNeverDecideWhichPieceIsCut(t *testing.T) {
	t.Parallel()
	cut, opened, named := 0, 0, 0
	testseed.Check(t, func(t *rapid.T) {
		s := drawCut(t)
		bound := rapid.Int64Range(0, 300).Draw(t, "bound")
		wider := bound + rapid.Int64Range(1, 3000).Draw(t, "wider by")
		narrow, cuts := answers(s, bound)
		wide, _ := answers(s, wider)
		cut += cuts
		for i := range narrow {
			if narrow[i] == contradiction {
				continue
			}
			if narrow[i] != "" {
				named++
			}
			if narrow[i] != wide[i] {
				opened++
			}
			if wide[i] != "" && wide[i] != narrow[i] {
				t.Fatalf("request %d: with bounds of %d ns it is %q, with %d ns %q", i, bound, narrow[i], wider, wide[i])
			}
		}
	})
	if t.Logf("%d pieces cut, %d answers, %d opened by wider bounds", cut, named, opened); cut == 0 || opened == 0 {
		t.Error("no piece was cut, or no answer opened")
	}
}
