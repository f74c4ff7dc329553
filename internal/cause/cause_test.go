package cause

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// drawModel makes a model of any messages, slices and spans, most of which make no sense together.
func drawModel(t *rapid.T) *Model {
	rows := rapid.IntRange(2, 5).Draw(t, "rows")
	m := &Model{MinDelay: rapid.Int64Range(0, 3).Draw(t, "least")}
	for i := range rows {
		m.Hosts = append(m.Hosts, min(i, rapid.IntRange(0, i).Draw(t, "host")))
	}
	event := int64(0)
	next := func() int64 { event++; return event }
	at := func(name string) int64 { return rapid.Int64Range(0, 200).Draw(t, name) }
	var open []Slice
	for range rapid.IntRange(0, 25).Draw(t, "slices") {
		b := at("begin")
		s := Slice{Begin: b, End: b + rapid.Int64Range(0, 80).Draw(t, "length"), Row: rapid.IntRange(0, rows-1).Draw(t, "row"), Depth: rapid.IntRange(0, 3).Draw(t, "depth"),
			Class: rapid.IntRange(0, 5).Draw(t, "class"), Event: next(), Last: next()}
		open = append(open, s)
		m.Spans.Name(s.Event, Span{Trace: uint64(rapid.IntRange(0, 1).Draw(t, "trace")), ID: uint64(rapid.IntRange(1, 9).Draw(t, "id")), Parent: uint64(rapid.IntRange(0, 9).Draw(t, "parent"))})
	}
	m.Slices = func(row int, from, to int64) (list []Slice) {
		for _, s := range open {
			if s.Row == row && s.Begin < to && s.End > from {
				list = append(list, s)
			}
		}
		return list
	}
	ends := map[int64]bool{}
	for range rapid.IntRange(0, 30).Draw(t, "messages") {
		x := Message{From: rapid.IntRange(0, rows-1).Draw(t, "from"), To: rapid.IntRange(0, rows-1).Draw(t, "to"), Sent: at("sent"), Received: at("received"), SentEvent: next(), ReceivedEvent: next()}
		if len(open) > 0 && rapid.Bool().Draw(t, "begins a slice") {
			s := open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
			x.From, x.Sent, x.SentEvent = s.Row, s.Begin, s.Event
		}
		if len(open) > 0 && rapid.Bool().Draw(t, "ends a slice") {
			s := open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
			x.To, x.Received, x.ReceivedEvent = s.Row, s.End, s.Last
		}
		ends[x.SentEvent], ends[x.ReceivedEvent] = true, true
		m.Messages = append(m.Messages, x)
	}
	for _, s := range open {
		if ends[s.Event] || ends[s.Last] {
			m.Ends = append(m.Ends, s)
		} else {
			m.Inner = append(m.Inner, s)
		}
	}
	return m
}

func TestPiecesFollowEachOtherAndSumToTheRequest(t *testing.T) {
	walked := 0
	testseed.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		list := m.Requests()
		p := NewPaths(m, list)
		for i := range list {
			r := &list[i]
			if r.ClientTime()+r.Transfer()+r.ServerTime()+r.Network() != r.Total() {
				t.Fatalf("%+v: its parts do not sum to its length", r)
			}
			walked++
			checkPath(t, p.Of(r), r.Begin, r.End)
		}
		checkPath(t, p.Between(0, 20, 150), 20, 150)
	})
	if walked < 10 {
		t.Errorf("only %d requests were walked", walked)
	}
}

func checkPath(t *rapid.T, pieces []Piece, from, to int64) {
	at, sum := from, int64(0)
	for _, x := range pieces {
		if x.Begin != at {
			t.Fatalf("a gap before %+v of %+v", x, pieces)
		}
		at = x.End
		sum += x.Length()
	}
	if at != to || sum != to-from {
		t.Fatalf("pieces from %d to %d sum to %d: %+v", from, to, sum, pieces)
	}
}

func TestTheDeepestSliceNamesEachInstant(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var list []Slice
		for i := range rapid.IntRange(0, 12).Draw(t, "slices") {
			b := rapid.Int64Range(-10, 40).Draw(t, "begin")
			list = append(list, Slice{Begin: b, End: b + rapid.Int64Range(0, 30).Draw(t, "length"), Depth: rapid.IntRange(0, 20).Draw(t, "depth")*100 + i, Class: i})
		}
		got := deepest(list, 0, 40)
		for at := range int64(40) {
			want, depth := -1, -1
			for _, s := range list {
				if s.Begin <= at && at < s.End && s.Depth > depth {
					want, depth = s.Class, s.Depth
				}
			}
			i := slices.IndexFunc(got, func(s Slice) bool { return s.Begin <= at && at < s.End })
			if i < 0 || got[i].Class != want {
				t.Fatalf("at %d: %+v, want class %d", at, got, want)
			}
		}
	})
}

// world is a client, a server and a database of which all is known: 1,000 requests, of which most have one cause.
type world struct {
	m       *Model
	planted []Key // of each request; Class -2 for none
}

// Names of states of threads.
const (
	running = iota
	runQueue
	lock
	disk
	collector
	states
)

type hostClock struct{ at, drift float64 }

// newWorld plants causes of 4 to 12 ms into some requests, and sets the clocks wrong by up to bound.
func newWorld(seed uint64, requests int, bound int64) *world {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{m: &Model{Hosts: []int{0, 1, 2, 3}, MinDelay: 20_000}}
	clocks := make([]hostClock, 4)
	for i := range clocks {
		clocks[i] = hostClock{float64(bound) * (2*random.Float64() - 1) * 0.9, 1e-7 * (random.Float64() - 0.5)}
	}
	rows := make([][]Slice, 4)
	stamp := func(host int, at int64) int64 {
		c := clocks[host]
		return at + int64(c.at+min(float64(at)*c.drift, float64(bound)*0.1))
	}
	w.m.Bounds = func(row int, at int64) Bounds { return Bounds{bound + 1, bound + 1, true} }
	w.m.Slices = func(row int, from, to int64) (list []Slice) {
		i, _ := slices.BinarySearchFunc(rows[row], from, func(s Slice, at int64) int {
			if s.End <= at {
				return -1
			}
			return 1
		})
		for ; i < len(rows[row]) && rows[row][i].Begin < to; i++ {
			list = append(list, rows[row][i])
		}
		return list
	}
	event := int64(0)
	now := int64(0)
	next := func() int64 { event++; return event }
	short := func(least, most int64) int64 { return least + random.Int64N(most-least) }
	work := func(host, state int, length int64) {
		if length > 0 {
			rows[host] = append(rows[host], Slice{Begin: stamp(host, now), End: stamp(host, now+length), Row: host, Class: state, Event: next(), Last: next()})
			now += length
		}
	}
	send := func(from, to int, extra int64) {
		d := short(100_000, 400_000) + extra
		w.m.Messages = append(w.m.Messages, Message{From: from, To: to, Sent: stamp(from, now), Received: stamp(to, now+d), SentEvent: next(), ReceivedEvent: next()})
		now += d
	}
	for range requests {
		cause, host, extra := random.IntN(states+5), 1+random.IntN(2), short(4_000_000, 12_000_000)
		planted := Key{Class: cause, Host: host, FromHost: -1}
		way := [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}}[random.IntN(4)]
		switch {
		case cause >= states+4:
			planted.Class = -2
		case cause >= states:
			planted = Key{Class: -1, Host: way[1], FromHost: way[0]}
		}
		w.planted = append(w.planted, planted)
		late := func(from, to int) int64 {
			if planted.Class == -1 && planted.FromHost == from && planted.Host == to {
				return extra
			}
			return 0
		}
		at := func(h int) {
			for s := range states {
				usual := []int64{short(100_000, 300_000), short(1, 60_000), 0, short(1, 100_000), 0}[s]
				if planted.FromHost < 0 && planted.Host == h && planted.Class == s {
					usual += extra
				}
				work(h, s, usual)
			}
		}
		send(0, 1, late(0, 1))
		if random.IntN(3) == 0 { // what nobody asked for
			was := now
			send(3, 1, 0)
			now = was
		}
		at(1)
		send(1, 2, late(1, 2))
		at(2)
		send(2, 1, late(2, 1))
		work(1, running, short(50_000, 100_000))
		send(1, 0, late(1, 0))
		now += short(1_000_000, 2_000_000)
	}
	return w
}

// named is what a blame says: the one item, or that it is undecided.
func named(b *Blame) (Key, bool) {
	if can := b.Largest(); len(can) == 1 {
		return b.Items[can[0]].Key, true
	}
	return Key{}, false
}

func TestPlantedCausesAreNamedOrUndecidedAndNeverSilentlyWrong(t *testing.T) {
	t.Parallel()
	const delay = 8_000_000
	for _, seed := range []uint64{1, 2, 3, 4} {
		for _, share := range []float64{0, 0.25, 1, 5} {
			bound := int64(share * delay)
			w := newWorld(seed, 1000, bound)
			list := slices.DeleteFunc(w.m.Requests(), func(r Request) bool { return r.Client != 0 })
			if len(list) != 1000 {
				t.Fatalf("%d requests of 1000", len(list))
			}
			p := NewPaths(w.m, list)
			blames := make([]*Blame, len(list))
			for i := range list {
				pieces := p.Of(&list[i])
				sum := int64(0)
				for _, x := range pieces {
					sum += x.Length()
				}
				if sum != list[i].Total() {
					t.Fatalf("pieces sum to %d of %d", sum, list[i].Total())
				}
				blames[i] = w.m.Sum(pieces)
			}
			var total, beyond, causes int
			for i, b := range blames {
				if w.planted[i].Class == -2 {
					continue
				}
				causes++
				switch key, one := named(b); {
				case one && key == w.planted[i]:
					total++
				case one:
					t.Errorf("seed %d, bound %d: request %d: by total %+v is named, and it was %+v", seed, bound, i, key, w.planted[i])
				}
				typical := Typical(blames[max(0, i-32):min(len(blames), i+33)])
				switch key, one := named(b.Beyond(typical, 20_000)); {
				case one && key == w.planted[i]:
					beyond++
				case one:
					t.Errorf("seed %d, bound %d: request %d: by excess %+v is named, and it was %+v", seed, bound, i, key, w.planted[i])
				}
			}
			if share == 0 {
				t.Logf("seed %d: %d requests with a cause", seed, causes)
			}
			t.Logf("seed %d, bounds of %.2f of the delay: right by excess %.1f %%, by total %.1f %%, the others undecided", seed, share, 100*float64(beyond)/float64(causes), 100*float64(total)/float64(causes))
			if float64(beyond) < 0.98*float64(causes) {
				t.Errorf("seed %d, bound %d: by excess %d of %d causes are named", seed, bound, beyond, causes)
			}
		}
	}
}

func TestWiderBoundsNeverDecideWhatWasOpen(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(1, 50).Draw(t, "seed"), 60, rapid.Int64Range(0, 1_000_000).Draw(t, "bound"))
		list := slices.DeleteFunc(w.m.Requests(), func(r Request) bool { return r.Client != 0 })
		p := NewPaths(w.m, list)
		narrow := w.m.Bounds
		more := rapid.Int64Range(0, 20_000_000).Draw(t, "wider by")
		turn := rapid.Int64Range(0, 50_000).Draw(t, "turn")
		var like []*Blame
		for i := range 16 {
			like = append(like, w.m.Sum(p.Of(&list[i])))
		}
		typical := Typical(like)
		for range 20 {
			i := rapid.IntRange(0, len(list)-1).Draw(t, "request")
			pieces := p.Of(&list[i])
			w.m.Bounds = narrow
			before := w.m.Sum(pieces)
			w.m.Bounds = func(row int, at int64) Bounds {
				b := narrow(row, at)
				return Bounds{b.Below + more, b.Above + more, true}
			}
			after := w.m.Sum(pieces)
			w.m.Bounds = narrow
			for _, pair := range [][2]*Blame{{before, after}, {before.Beyond(typical, turn), after.Beyond(typical, turn)}} {
				for _, k := range pair[0].Largest() {
					if !slices.Contains(pair[1].Largest(), k) {
						t.Fatalf("request %d: with wider bounds %+v can no longer be the largest", i, pair[0].Items[k].Key)
					}
				}
				for k := range pair[0].Items {
					l, h := pair[0].Range(&pair[0].Items[k])
					if x, y := pair[1].Range(&pair[1].Items[k]); x > l || y < h {
						t.Fatalf("request %d: with wider bounds %+v is within %d and %d, not %d and %d", i, pair[0].Items[k].Key, x, y, l, h)
					}
				}
			}
		}
	})
}

func TestTheWaysOfAnExchangeHoldTheTruth(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 500).Draw(t, "bound")
		least := rapid.Int64Range(0, 50).Draw(t, "least")
		d1, d2 := least+rapid.Int64Range(0, 300).Draw(t, "there"), least+rapid.Int64Range(0, 300).Draw(t, "back")
		theta := rapid.Int64Range(-2*bound, 2*bound).Draw(t, "theta")
		ea := rapid.Int64Range(max(-bound, -bound-theta), min(bound, bound-theta)).Draw(t, "error of a")
		m := &Model{Hosts: []int{0, 1}, MinDelay: least, Bounds: func(int, int64) Bounds { return Bounds{bound, bound, true} }}
		r := Request{There: Message{From: 0, To: 1, Sent: 1000 - ea, Received: 1000 + d1 - ea - theta}, Back: Message{From: 1, To: 0, Sent: 5000 - ea - theta, Received: 5000 + d2 - ea}}
		there, back := m.Ways(&r)
		if r.Network() != d1+d2 {
			t.Fatalf("the network took %d, not %d", r.Network(), d1+d2)
		}
		for _, x := range []struct {
			i Interval
			d int64
		}{{there, d1}, {back, d2}} {
			if x.i.Impossible || !x.i.HasLow || !x.i.HasHigh || x.i.Low > x.d || x.i.High < x.d || x.i.Low < least {
				t.Fatalf("%+v does not hold %d", x.i, x.d)
			}
		}
	})
}

// A trace of spans: a client asks a server, which asks two others one after the other, and works between; a third call is not waited for.
func TestTheLastFinishingChildIsOnThePathOfASpan(t *testing.T) {
	m := &Model{Hosts: []int{0, 1, 2}}
	event := int64(0)
	slice := func(row, class int, begin, end int64, id, parent uint64) Slice {
		event += 2
		m.Spans.Name(event-1, Span{1, id, parent})
		s := Slice{Begin: begin, End: end, Row: row, Class: class, Event: event - 1, Last: event}
		m.Ends = append(m.Ends, s)
		return s
	}
	call := func(c, s Slice) {
		m.Messages = append(m.Messages, Message{From: c.Row, To: s.Row, Sent: c.Begin, Received: s.Begin, SentEvent: c.Event, ReceivedEvent: s.Event}, Message{From: s.Row, To: c.Row, Sent: s.End, Received: c.End, SentEvent: s.Last, ReceivedEvent: c.Last})
	}
	root, served := slice(0, 0, 0, 1000, 1, 0), slice(1, 1, 100, 900, 2, 1)
	first, firstServed := slice(1, 2, 150, 300, 3, 2), slice(2, 3, 180, 280, 4, 3)
	second, secondServed := slice(1, 2, 400, 850, 5, 2), slice(2, 3, 420, 840, 6, 5)
	async, asyncServed := slice(1, 4, 160, 390, 7, 2), slice(2, 3, 170, 380, 8, 7)
	late, lateServed := slice(1, 4, 860, 950, 9, 2), slice(2, 3, 870, 940, 10, 9)
	for _, c := range [][2]Slice{{root, served}, {first, firstServed}, {second, secondServed}, {async, asyncServed}, {late, lateServed}} {
		call(c[0], c[1])
	}
	m.Inner = []Slice{{Begin: 500, End: 600, Row: 2, Class: 5, Event: 90, Last: 91}}
	m.Spans.Name(90, Span{1, 11, 6})
	list := m.Requests()
	if len(list) != 5 || list[0].Total() != 1000 || list[0].ServerTime() != 800 || list[0].Network() != 200 || list[0].ClientTime() != 0 {
		t.Fatalf("requests %+v", list)
	}
	got := ""
	for _, x := range NewPaths(m, list).Of(&list[0]) {
		name := fmt.Sprintf("%d@%d", x.Class, x.Row)
		if x.From >= 0 {
			name = fmt.Sprintf("%d>%d", x.From, x.Row)
		}
		got += fmt.Sprintf("%s:%d ", name, x.Length())
	}
	if want := "0>1:100 1@1:60 1>2:10 3@2:210 2>1:10 1@1:10 1>2:20 3@2:80 5@2:100 3@2:240 2>1:10 1@1:50 1>0:100 "; got != want {
		t.Errorf("the path is\n%s, want\n%s", got, want)
	}
}

func TestExchangesAlternateAndOverlapsAreToldApart(t *testing.T) {
	event := int64(0)
	x := func(from, to int, sent, received int64) Message {
		event += 2
		return Message{From: from, To: to, Sent: sent, Received: received, SentEvent: event - 1, ReceivedEvent: event}
	}
	for name, c := range map[string]struct {
		messages []Message
		want     string
	}{
		"one request":          {[]Message{x(0, 1, 0, 10), x(1, 0, 30, 45)}, "0 45 20 25 2 false"},
		"two of three packets": {[]Message{x(0, 1, 0, 10), x(0, 1, 2, 12), x(1, 0, 30, 45), x(0, 1, 60, 70), x(1, 0, 75, 80), x(1, 0, 76, 90)}, "0 45 18 25 3 false|60 90 5 15 3 false"},
		"the other row asks":   {[]Message{x(1, 0, 0, 10), x(0, 1, 30, 45)}, "0 45 20 25 2 false"},
		"a clock is far off":   {[]Message{x(0, 1, 0, -1000), x(1, 0, -900, 150)}, "0 150 100 50 2 false"},
		"pipelined":            {[]Message{x(0, 1, 0, 10), x(0, 1, 20, 30), x(1, 0, 15, 40)}, "0 40 -15 35 3 true"},
		"no reply":             {[]Message{x(0, 1, 0, 10)}, ""},
	} {
		m := &Model{Hosts: []int{0, 1}, Messages: c.messages}
		got := ""
		for i, r := range m.Requests() {
			if i > 0 {
				got += "|"
			}
			got += fmt.Sprintf("%d %d %d %d %d %v", r.Begin, r.End, r.ServerTime(), r.Network(), r.Messages, r.Overlapping)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMessagesOfAPathLieOnTheRowsOfTheirPackets(t *testing.T) {
	t.Parallel()
	// Rows 0 and 1 stand for all packets of two hosts; these lie on rows 2 and 3.
	there := Message{From: 0, To: 1, Sent: 10, Received: 20, Conversation: 1, On: [2]int32{3, 4}}
	back := Message{From: 1, To: 0, Sent: 30, Received: 40, Conversation: 1, On: [2]int32{4, 3}}
	m := &Model{Hosts: []int{0, 1, 0, 1}, Messages: []Message{there, back}, Slices: func(int, int64, int64) []Slice { return nil }}
	var ways [][2]int
	for _, p := range NewPaths(m, nil).Of(&Request{Kind: KindExchange, Client: 0, Server: 1, Class: -1, Begin: 10, End: 40, There: there, Back: back, Served: -1, Conversation: 1}) {
		if p.From >= 0 {
			ways = append(ways, [2]int{p.From, p.Row})
		}
	}
	if want := [][2]int{{2, 3}, {3, 2}}; !slices.Equal(ways, want) {
		t.Errorf("messages go between rows %v, not %v", ways, want)
	}
}

func TestManyUnboundedMessagesDoNotOverflow(t *testing.T) {
	m := &Model{Hosts: []int{0, 1}}
	var pieces []Piece
	for i := range int64(100_000) {
		pieces = append(pieces, Piece{Row: 1, From: 0, Begin: i, End: i + 1, Class: -1})
	}
	pieces = append(pieces, Piece{Row: 0, From: -1, Begin: 0, End: 5, Class: 1})
	b := m.Sum(pieces)
	for i := range b.Items {
		low, high := b.Range(&b.Items[i])
		if it := &b.Items[i]; it.Key.FromHost >= 0 && (low > it.C || high < 1<<60) || it.Key.FromHost < 0 && (low != 5 || high != 5) {
			t.Errorf("%+v is from %d to %d", it.Key, low, high)
		}
	}
	if can := b.Largest(); len(can) != 2 {
		t.Errorf("the largest are %v", can)
	}
}

// Of five requests, one waited for what another host was asked before: its time depends on that host's clock, and that of like requests does not.
func TestWhatFewLikeRequestsDependOnIsNotTypical(t *testing.T) {
	theta := map[[2]int]Interval{{1, 2}: {Low: -10, High: 10, HasLow: true, HasHigh: true}}
	key := Key{Host: 1, FromHost: -1, State: CPU}
	var like []*Blame
	for i := range int64(5) {
		k := map[[2]int]int64{}
		if i == 0 {
			k[[2]int{1, 2}] = -1
		}
		like = append(like, &Blame{Items: []Item{{Key: key, C: 100 + i, K: k, Pieces: 1}}, Theta: theta})
	}
	typical := Typical(like)
	if x := typical[key]; x.C != 102 || len(x.K) != 0 {
		t.Fatalf("typical is %+v", x)
	}
	alone := &Blame{Items: []Item{{Key: key, C: 500, K: map[[2]int]int64{}}}, Theta: map[[2]int]Interval{}}
	beyond := alone.Beyond(typical, 0)
	if low, high := beyond.Range(&beyond.Items[0]); low != 398 || high != 398 {
		t.Errorf("beyond is from %d to %d, not 398", low, high)
	}
}

func TestTimeOfWhichNothingIsKnownLeavesOpenWhatItCouldMakeTheLongest(t *testing.T) {
	item := func(s State, c int64) Item {
		return Item{Key: Key{FromHost: -1, State: s}, C: c, K: map[[2]int]int64{}}
	}
	for _, c := range []struct {
		items []Item
		want  []int
	}{
		{[]Item{item(CPU, 60), item(RunQueue, 30), item(WakerUnknown, 29)}, []int{0}},
		{[]Item{item(CPU, 60), item(RunQueue, 30), item(WakerUnknown, 20), item(RequestUnknown, 10)}, []int{0, 2}},
		{[]Item{item(WakerUnknown, 60), item(RunQueue, 30), item(CPU, 20)}, []int{0}},
		{[]Item{item(CPU, 60), item(WakerUnknown, 59)}, []int{0}},
		{[]Item{item(CPU, 60), item(RunQueue, 30), item(Peer, 50)}, []int{0}},
	} {
		b := &Blame{Items: c.items}
		if got := b.Largest(); !slices.Equal(got, c.want) {
			t.Errorf("of %+v the largest are %v, not %v", c.items, got, c.want)
		}
	}
}
