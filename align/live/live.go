package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/online"
	"meridian/clock"
	"meridian/trace"
)

// Options says how the alignment goes on. The zero value is the default.
type Options struct {
	// Align is what rounds are made with. Its Reference is followed by a component that begins with it.
	Align align.Options
	// Window is how far back messages count, by the clocks of each pair; 0 is a minute.
	Window time.Duration
	// Interval is between rounds, by the clocks; 0 is a second. It is longer where rounds are costly.
	Interval time.Duration
	// Ahead is how far beyond the latest reading of a clock a round bounds it; 0 is ten seconds, or two intervals if these are
	// longer. Beyond, the clock is unbounded.
	Ahead time.Duration
	// Silence is after how long another clock takes over from a reference that shows nothing; 0 is twenty seconds.
	Silence time.Duration
	// Forget is after how long without messages a pair of clocks is forgotten; 0 is five minutes.
	Forget time.Duration
	// Keep is how long what was shown is kept; 0 is ten minutes. Older readings have an estimate without bounds.
	Keep time.Duration
}

// complete puts the defaults for zeros, or says what is wrong.
func (o *Options) complete() error {
	for _, d := range []struct {
		name  string
		value *time.Duration
		other time.Duration
	}{
		{"window", &o.Window, time.Minute}, {"interval", &o.Interval, time.Second}, {"ahead", &o.Ahead, max(10*time.Second, 2*o.Interval)},
		{"silence", &o.Silence, 20 * time.Second}, {"forget", &o.Forget, 5 * time.Minute}, {"keep", &o.Keep, 10 * time.Minute},
	} {
		switch {
		case *d.value < 0 || *d.value > maxOption:
			return fmt.Errorf("live: %s of %v is out of range: 0 to %v", d.name, *d.value, maxOption)
		case *d.value == 0:
			*d.value = d.other
		}
	}
	if o.Window < time.Second {
		return fmt.Errorf("live: window of %v is too short: at least a second", o.Window)
	}
	return o.Align.Check()
}

const maxOption = 24 * time.Hour

// Timeline aligns clocks while their messages come. It is not safe for concurrent use; the [Maps] that it hands out are.
type Timeline struct {
	o          Options
	assumed    bound.Assumption
	clocks     []*hostClock
	pairs      map[[2]int]*pairState
	silent     map[[2]int]silentPair // that were forgotten
	components int                   // how many there have ever been
	made       int                   // epochs
	version    int64
	urgent     bool  // a round is due at once
	working    *Work // the round that is being solved
	awaiting   bool  // clocks of which none has been aligned wait for the wanted reference
	unfinished *Work // the round that must be solved again, and was not shown
	kept       int   // messages of which the last round was made
	changes    []Change
	maps       *Maps
	inquiries  []*inquiry
	inquired   int // how many there have been
}

// hostClock is a clock as the caller knows it.
type hostClock struct {
	name, host  string
	granularity int64
	gone        bool
	epochs      []*epoch       // in the order of time; the last one is in force
	shown       clock.HostTime // the last reading
	atRound     clock.HostTime // the same at the last round
	any         bool
	since       clock.HostTime // messages with stamps before are from before a restart
	// staleFrom is what other clocks showed with the first of such messages since this clock showed a reading after it.
	staleFrom map[int]clock.HostTime
	runs      []*Run // those of epochs that are over
}

// New returns a timeline without clocks. An error says which option is out of range.
func New(o Options) (*Timeline, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	t := &Timeline{o: o, assumed: bound.Default, pairs: make(map[[2]int]*pairState), silent: make(map[[2]int]silentPair)}
	if o.Align.Assumption != nil {
		t.assumed = *o.Align.Assumption
	}
	t.publish()
	return t, nil
}

// Clock adds a clock and returns its number: 0 for the first, and so on. A clock of the same name that is there already
// has been restarted: it is gone, and the new one has nothing in common with it. A granularity below 1 stands for 1.
func (t *Timeline) Clock(name, host string, granularity int64) int {
	n := len(t.clocks)
	for i := n - 1; i >= 0; i-- {
		if t.clocks[i].name == name {
			t.Gone(i)
			t.change(Change{Kind: Restarted, Clock: n, Other: i, Component: t.components})
			break
		}
	}
	c := &hostClock{since: math.MinInt64, name: name, host: host, granularity: max(granularity, 1)}
	t.clocks = append(t.clocks, c)
	t.begin(n)
	t.publish()
	return n
}

// Gone says that a clock shows nothing any more: its host left, or was started anew. What was shown stays.
func (t *Timeline) Gone(n int) {
	c := t.clocks[n]
	if !c.gone {
		c.gone = true
		c.epochs[len(c.epochs)-1].ended = true
		t.urgent = true
	}
}

// begin starts an epoch of a clock, which is a component of its own until it is aligned.
func (t *Timeline) begin(n int) *epoch {
	e := &epoch{number: t.made, clock: n, fresh: true, first: math.MaxInt64, seen: math.MinInt64, earliest: math.MinInt64}
	t.made++
	e.component = &component{number: t.components, reference: e, base: clock.Identity()}
	t.components++
	c := t.clocks[n]
	c.epochs = append(c.epochs, e)
	e.identity()
	return e
}

// Seen says that a clock showed a reading.
func (t *Timeline) Seen(n int, at clock.HostTime) {
	c := t.clocks[n]
	c.show(at)
	t.epochAt(c, at).see(at)
}

func (c *hostClock) show(at clock.HostTime) {
	if !c.any {
		c.any, c.atRound = true, at
	}
	if c.shown = at; at >= c.since {
		c.staleFrom = nil
	}
}

// Add takes a message. It panics for clocks that do not exist, as an index out of range does. Messages from a clock to itself,
// with impossible stamps, or older than the window, are dropped.
func (t *Timeline) Add(from, to int, m trace.Message) {
	a, b := t.clocks[from], t.clocks[to]
	if from == to || !clock.Valid(m.Sent) || !clock.Valid(m.Received) {
		return
	}
	x, y := t.epochAt(a, m.Sent), t.epochAt(b, m.Received)
	a.show(m.Sent)
	b.show(m.Received)
	x.see(m.Sent)
	y.see(m.Received)
	staleA, staleB := a.stale(m.Sent), b.stale(m.Received)
	if staleA && a.setBack(to, m.Received) {
		doubts{t}.again(x)
	}
	if staleB && b.setBack(from, m.Sent) {
		doubts{t}.again(y)
	}
	if staleA || staleB {
		return
	}
	if len(t.inquiries) > 0 {
		doubts{t}.hear(from, to, m)
	}
	p := pairOf(t, x, y)
	lastA, lastB := p.lastA, p.lastB
	p.add(t, x, m)
	if p.edge.Contradictory() {
		p.prove(lastA)
	}
	if t.working != nil || t.unfinished != nil {
		p.note(meanwhile{from, to, m})
	}
	if (x.awaits() || y.awaits()) && t.unfinished != nil {
		return // what is shown is of the epoch before
	}
	sender, on := x.shownAt(m.Sent)
	receiver, in := y.shownAt(m.Received)
	// A message that was sent before two components became one may be received after that: its ends are on timelines that cannot be compared.
	never := on == in && impossible(sender, receiver, m, b.granularity)
	if never && !x.fresh && !y.fresh && x.open().Component == y.open().Component {
		p.prove(lastA)
	}
	if p.alarmed || never {
		doubts{t}.suspect(p, lastA, lastB)
	}
}

// prove notes that a message contradicts the assumption, or bounds that were shown and rest on it, and the reading of a that came before it. The
// messages that it contradicts may be older than the window when a round looks at it.
func (p *pairState) prove(before clock.HostTime) {
	if !p.proved {
		p.proved, p.provedBehind = true, before
	}
}

// suspect takes the bounds from two clocks, from their last messages on that contradicted nothing, because one does: one of the
// clocks may have been set. A round is due that finds out.
func (t doubts) suspect(p *pairState, lastA, lastB clock.HostTime) {
	if !p.doubtful {
		p.doubtful = t.working != nil && !t.working.alarmed[p]
	}
	p.alarmed, t.urgent = true, true
	changed := false
	unbind := func(e *epoch, last clock.HostTime) {
		if e.open().bounded() && (e.component.reference != e || alarmed(t.pairs, e) > 1) {
			e.unbind(last)
			changed = true
		}
	}
	unbind(p.a, lastA)
	unbind(p.b, lastB)
	for _, c := range t.clocks { // another clock of the component may be the one that was set
		for _, e := range c.epochs {
			if e != p.a && e != p.b && !e.ended && e.any() && (e.component == p.a.component || e.component == p.b.component) {
				unbind(e, e.seen)
			}
		}
	}
	if changed {
		t.publish()
	}
}

// alarmed returns with how many others a clock has messages that contradict what is known. The reference is taken not to have been
// set as long as it is one.
func alarmed(pairs map[[2]int]*pairState, e *epoch) int {
	n := 0
	for _, p := range pairs {
		if p.alarmed && (p.a == e || p.b == e) {
			n++
		}
	}
	return n
}

// epochAt returns the epoch of a clock to which a reading that comes now belongs: the newest that can have shown it.
func (t *Timeline) epochAt(c *hostClock, at clock.HostTime) *epoch {
	i := len(c.epochs) - 1
	for i > 0 && at < c.epochs[i].earliest {
		i--
	}
	return c.epochs[i]
}

// pair returns the state of two epochs that exchange messages.
func pairOf(t *Timeline, x, y *epoch) *pairState {
	a, b := x, y
	if a.number > b.number {
		a, b = b, a
	}
	key := [2]int{a.number, b.number}
	p := t.pairs[key]
	if p == nil {
		p = newPairState(t, a, b)
		if x, was := t.silent[key]; was {
			p.lastA, p.lastB, p.returned = x.lastA, x.lastB, true
			delete(t.silent, key)
		}
		t.pairs[key] = p
	}
	return p
}

// sorted returns all pairs in an order that does not depend on chance.
func sorted(pairs map[[2]int]*pairState) []*pairState {
	out := make([]*pairState, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, p)
	}
	slices.SortFunc(out, func(p, q *pairState) int {
		return cmp.Or(cmp.Compare(p.a.number, q.a.number), cmp.Compare(p.b.number, q.b.number))
	})
	return out
}

// pairState is what two epochs exchanged lately.
type pairState struct {
	a, b   *epoch
	ab, ba window
	edge   *online.Strict
	// alarmed says that the messages contradict the assumption, and a round was asked for.
	alarmed      bool
	proved       bool           // a message contradicted the assumption, and no round has told what it means
	provedBehind clock.HostTime // the latest reading of a before that message
	doubtful     bool           // it contradicts what is known since the round began
	recent       [3]recent
	meanwhile    []meanwhile // that came since the round began
	received     int
	bent         clock.HostTime // the latest reading of a for which it was told that the clocks bent
	lastA, lastB clock.HostTime // the latest stamps
	returned     bool           // the pair was forgotten, and no message has come since
	settling     int            // messages until a round is due after a restart
	idle         int            // rounds since both clocks are gone
	patience     int            // messages until a round is to look again
	looked       int            // how many rounds have looked in vain
}

func newPairState(t *Timeline, a, b *epoch) *pairState {
	length := max(t.o.Window.Nanoseconds()/windowParts, 1)
	p := &pairState{a: a, b: b, lastA: math.MinInt64, lastB: math.MinInt64, bent: math.MinInt64, ab: window{ahead: true, length: length}, ba: window{length: length}}
	least := t.o.Align.MinDelay
	p.edge = online.NewStrict(t.assumed, t.o.Window.Nanoseconds(), t.clocks[a.clock].granularity, t.clocks[b.clock].granularity, least, least)
	return p
}

// add takes a message, and notes whether a round is due at once: the first message each way, or one that contradicts what is known.
func (p *pairState) add(t *Timeline, from *epoch, m trace.Message) {
	w := &p.ab
	if from != p.a {
		w = &p.ba
	}
	t.urgent = t.urgent || w.total == 0 && (p.a.component != p.b.component || p.a.fresh || p.b.fresh)
	if (p.pass(w.part(m)) || p.returned) && p.leaps(from, m) {
		tellLeap(t, p)
	}
	p.returned = false
	w.add(m)
	if from == p.a {
		p.edge.AB(m)
		p.last(m.Sent, m.Received)
	} else {
		p.edge.BA(m)
		p.last(m.Received, m.Sent)
	}
	p.recent[p.received%len(p.recent)] = recent{m, from == p.a}
	p.received++
	if p.settling > 0 {
		if p.settling--; p.settling == 0 {
			t.urgent = true
		}
	}
	switch {
	case p.patience > 0: // a round has looked, and found too few messages behind a step, or none
		if p.patience--; p.patience == 0 {
			p.alarmed, t.urgent = true, true
		}
	case !p.alarmed && p.edge.Contradictory():
		p.alarmed, t.urgent = true, true
	}
}

// pass drops messages before one of a part comes: those older than the window, of both directions alike, and all if there was none for half a
// window and for longer than those that there are. A clock may have been set in such a silence. Few messages from before it leave room for a rate
// at which nothing was set, and with the first ones behind it they would give bounds that are wrong. It reports whether it left none.
func (p *pairState) pass(number int64) (none bool) {
	held := len(p.ab.parts)+len(p.ba.parts) > 0
	newest, oldest := int64(math.MinInt64), int64(math.MaxInt64)
	for _, w := range []*window{&p.ab, &p.ba} {
		w.expire(number)
		if n := len(w.parts); n > 0 {
			newest, oldest = max(newest, w.parts[n-1].number), min(oldest, w.parts[0].number)
		}
	}
	if newest == math.MinInt64 {
		return held
	}
	if silence := number - newest; silence > windowParts/2 && silence > newest-oldest {
		p.ab.clear()
		p.ba.clear()
		return true
	}
	return false
}

// contradictory reports whether the messages of the window contradict the assumption. The bounds of the leading edge may have
// begun anew since.
func (p *pairState) contradictory() bool {
	if p.edge.Contradictory() {
		return true
	}
	whole := *p.edge
	p.fill(&whole)
	return whole.Contradictory()
}

// recent is one of the messages that came last.
type recent struct {
	trace.Message
	fromA bool
}

// contradicts reports whether a message that came lately is impossible by the maps of the two clocks: sent after it was received.
func (p *pairState) contradicts(a, b *clock.Map, stepA, stepB int64) bool {
	for _, m := range p.recent[:min(p.received, len(p.recent))] {
		if m.fromA && impossible(a, b, m.Message, stepB) || !m.fromA && impossible(b, a, m.Message, stepA) {
			return true
		}
	}
	return false
}

// impossible reports whether a message was surely received before it was sent.
func impossible(from, to *clock.Map, m trace.Message, step int64) bool {
	low, _, lowOK, _ := from.EventBounds(m.Sent, 1)
	_, high, _, highOK := to.EventBounds(m.Received, step)
	return lowOK && highOK && low > high
}

func (p *pairState) last(a, b clock.HostTime) { p.lastA, p.lastB = max(p.lastA, a), max(p.lastB, b) }

// Bounds returns what the clock of b showed when that of a showed t, at least low and at most high, by the messages of the
// two alone, those that came last included. t must not lie before the latest of these; see [online.Strict.At].
func (t *Timeline) Bounds(a, b int, at clock.HostTime) (low, high clock.HostTime, lowOK, highOK bool) {
	x, y := t.epochAt(t.clocks[a], at), t.clocks[b].epochs[len(t.clocks[b].epochs)-1]
	p := t.pairs[[2]int{x.number, y.number}]
	if p == nil {
		return 0, 0, false, false
	}
	low, high, lowOK, highOK, _ = p.edge.At(at)
	return low, high, lowOK, highOK
}

// Maps returns what is known now. It does not change.
func (t *Timeline) Maps() *Maps { return t.maps }
