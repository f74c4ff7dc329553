package live

import (
	"context"

	"meridian/align"
	"meridian/clock"
	"meridian/trace"
)

// Work is a round between its beginning and its end:
//
//	Prepare (quick) --> Solve (long, any goroutine) --> Apply (quick)
//
// Only Solve may run beside other calls of the timeline. What was shown until Apply stays, whatever came since Prepare.
type Work struct {
	tasks    []*task
	alarmed  map[*pairState]bool // when it began
	division int                 // how often it was begun anew because clocks were found to have been set
	set      bool                // clocks were
	heirs    int                 // how often it was begun anew for a clock that takes over
	touched  map[int]bool
	solved   bool
}

// task is a group of clocks that a round aligns. Solve reads problem, and writes the two solutions, nothing else.
type task struct {
	*solution
	problem         *trace.Problem
	options         align.Options
	heirName        string
	result, forHeir *align.Solution
	failed          error
}

// maxDivisions is how often a round begins anew because clocks were found to have been set, and maxHeirs how often for a clock that
// takes over.
const maxDivisions, maxHeirs = 4, 2

// maxMeanwhile is how many messages of a pair that come while a round is solved are held against its result.
const maxMeanwhile = 256

// meanwhile is a message that came while a round was solved, between two clocks.
type meanwhile struct {
	from, to int
	trace.Message
}

func (p *pairState) note(m meanwhile) {
	if len(p.meanwhile) < maxMeanwhile {
		p.meanwhile = append(p.meanwhile, m)
	} else {
		p.meanwhile[p.received%maxMeanwhile] = m
	}
}

// awaits reports whether a clock was found to have been set, and has not been aligned since.
func (e *epoch) awaits() bool { return e.fresh && e.step != nil && e.step.before != nil }

// interim is what is shown of an epoch behind a step until it is aligned: the estimate of the epoch before, without bounds.
func (e *epoch) interim() *Run {
	before := e
	for before.awaits() {
		before = before.step.before
	}
	r := before.open()
	return &Run{Component: r.Component, Epoch: e.number, First: e.earliest, Last: forever, Until: forever, Map: clock.Map{Mid: r.Map.Mid}}
}

// Advance makes a round if one is due by what the clocks have shown: the offline stages over the window. It returns the clocks
// whose maps have changed. An error is one of ctx; then the maps are those of the round before.
func (t *Timeline) Advance(ctx context.Context) (changed []int, err error) {
	if !(round{t}).due() {
		return nil, nil
	}
	return t.Round(ctx)
}

// Round makes a round, due or not. It panics between Prepare and Apply.
func (t *Timeline) Round(ctx context.Context) (changed []int, err error) {
	if t.working != nil {
		panic("live: Round while another round is being solved")
	}
	for {
		w := t.Prepare(true)
		w.Solve(ctx)
		changed, err = t.Apply(w)
		if err != nil || t.unfinished == nil {
			return changed, err
		}
	}
}

// Prepare begins a round if one is due, or if now is set. It returns nil if not, or while another round is being solved. Every
// Work must be given to [Timeline.Apply].
func (t *Timeline) Prepare(now bool) *Work {
	if t.working != nil || !now && !(round{t}).due() {
		return nil
	}
	w := &Work{touched: make(map[int]bool)}
	if u := t.unfinished; u != nil {
		w.division, w.set, w.heirs = u.division, u.set, u.heirs
	}
	r := round{t}
	r.age()
	doubts{t}.find()
	doubts{t}.giveUp()
	t.kept = 0
	for _, g := range r.groups() {
		if _, reference := r.leading(g); t.awaiting && reference == nil {
			continue
		}
		for _, e := range g.epochs {
			if t.unfinished == nil || e.fresh {
				e.prepared = e.seen
			}
		}
		w.tasks = append(w.tasks, r.task(g))
	}
	w.alarmed = make(map[*pairState]bool)
	for _, p := range t.pairs {
		p.ab.fresh, p.ba.fresh = false, false
		p.meanwhile, p.doubtful = nil, false
		if p.alarmed {
			w.alarmed[p] = true
		}
	}
	for _, c := range t.clocks {
		c.atRound = c.shown
	}
	t.urgent = false
	t.working = w
	return w
}

// AwaitReference says whether clocks of which none has been aligned wait for messages of the reference that the options name. Without a name none waits.
func AwaitReference(t *Timeline, reference bool) {
	reference = reference && t.o.Align.Reference != ""
	t.urgent = t.urgent || t.awaiting && !reference
	t.awaiting = reference
}

// task copies what a group's alignment is made of. The reference is that of the component that goes on.
func (t round) task(g *group) *task {
	s := &solution{group: g}
	s.component, s.reference = t.leading(g)
	k := &task{solution: s, problem: t.problem(s), options: t.o.Align}
	k.options.Reference = ""
	if s.reference != nil {
		k.options.Reference = s.reference.name()
	}
	if c := s.component; c != nil && c.heir != nil {
		for _, e := range g.epochs {
			if e == c.heir {
				k.heirName = e.name()
			}
		}
	}
	return k
}

// Solve aligns. It shares nothing with the timeline. When ctx ends, it returns, and Apply returns its error.
func (w *Work) Solve(ctx context.Context) {
	for _, k := range w.tasks {
		var err error
		if k.result, err = align.Solve(ctx, k.problem, k.options); err != nil {
			k.failed = err
			return
		}
		if k.heirName == "" {
			continue
		}
		o := k.options
		o.Reference = k.heirName
		if k.forHeir, err = align.Solve(ctx, k.problem, o); err != nil {
			k.failed = err
			return
		}
	}
	w.solved = true
}

// Apply shows the result of a round from the latest readings on, and returns the clocks whose maps have changed. A group of clocks of
// which a message came since Prepare that contradicts what was known stays as it is, and another round is due. So it is
// when the result says that a clock was set, or another reference is needed: then the next round goes on with it.
func (t *Timeline) Apply(w *Work) (changed []int, err error) {
	if w == nil || t.working != w {
		panic("live: Apply of a round that is not the one that was prepared last")
	}
	t.working = nil
	if !w.solved {
		t.urgent, t.kept = true, 0 // at once
		for _, k := range w.tasks {
			if k.failed != nil {
				return nil, k.failed
			}
		}
		return nil, context.Canceled
	}
	t.unfinished = nil
	r := round{t}
	if r.another(w) || w.set && w.doubtful() { // that a clock was set counts until its group is shown
		t.unfinished = w
		return nil, nil
	}
	r.finish(w)
	for n := range t.clocks {
		if w.touched[n] {
			changed = append(changed, n)
		}
	}
	t.publish()
	return changed, nil
}

// another reports whether the clocks must be aligned again before anything is shown.
func (t round) another(w *Work) bool {
	for _, k := range w.tasks {
		k.Solution, k.solution.heir = k.result, k.forHeir
		if k.reference == nil {
			k.reference = k.epochs[k.References[k.Component[0]]]
		}
		if w.division < maxDivisions && division(t).divide(k.solution) {
			w.division++
			w.set = true
			return true
		}
	}
	wanted := false
	for _, k := range w.tasks {
		if k.component == nil || k.doubtful() {
			continue
		}
		best, _ := t.heir(k.solution)
		if best != nil && best != k.component.heir && w.heirs < maxHeirs {
			wanted = true
		}
		if best != k.component.heir {
			k.component.heir, k.solution.heir = best, nil
		}
	}
	if wanted {
		w.heirs++
	}
	return wanted
}

// doubtful reports whether messages that came since the round began contradict what was known then.
func (g *group) doubtful() bool {
	for _, p := range g.pairs {
		if p.doubtful {
			return true
		}
	}
	return false
}

func (w *Work) doubtful() bool {
	for _, k := range w.tasks {
		if k.doubtful() {
			return true
		}
	}
	return false
}

// finish shows what a round found.
func (t round) finish(w *Work) {
	var again []*group
	looked, restarts := make(map[*pairState]bool), make(map[*pairState]bool)
	for _, k := range w.tasks {
		if k.doubtful() {
			t.urgent = true
			continue
		}
		for _, p := range k.pairs {
			looked[p] = true
		}
		if t.commit(k.solution, w.touched, w.set) {
			again = append(again, k.group)
			for _, p := range k.pairs {
				restarts[p] = true
			}
		}
	}
	for _, p := range sorted(t.pairs) {
		if p.alarmed && looked[p] { // it has been looked at: bounds begin anew
			p.alarmed = false
			p.refill()
			if p.proved && p.patience == 0 { // no further round looks for what it means
				if !restarts[p] {
					tellProof(t, p)
				}
				p.proved = false
			}
		}
		p.meanwhile, p.doubtful = nil, false
	}
	t.rest()
	for _, g := range again {
		restart(t, g)
	}
}

// tellProof tells that two clocks do not keep the assumption where a message proved it and the round found nothing: what the message contradicted
// had left the window by then.
func tellProof(t round, p *pairState) {
	t.change(Change{Kind: Bent, Clock: p.a.clock, Other: p.b.clock, Component: p.a.component.number, From: p.provedBehind, To: p.a.seen, Sure: true})
	p.bent = max(p.bent, p.a.seen)
}

// contradictsSince reports whether a message that came while the round was solved is impossible by its maps.
func (p *pairState) contradictsSince(a, b *clock.Map, stepA, stepB int64) bool {
	for _, m := range p.meanwhile {
		if m.from == p.a.clock && impossible(a, b, m.Message, stepB) || m.from == p.b.clock && impossible(b, a, m.Message, stepA) {
			return true
		}
	}
	return false
}
