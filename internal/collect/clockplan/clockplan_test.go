package clockplan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// hostsOf draws hosts with names of their own, of which some cannot be asked.
func hostsOf(t *rapid.T, most int) []Host {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9.-]{1,8}`), 1, most, rapid.ID[string]).Draw(t, "hosts")
	hosts := make([]Host, len(names))
	for i, name := range names {
		hosts[i] = Host{Name: name, Answers: i == 0 || rapid.IntRange(0, 4).Draw(t, "answers") > 0}
	}
	return hosts
}

// world is how wide the bounds of pairs are.
type world struct {
	width  map[[2]string]int64
	silent map[[2]string]bool
	known  map[[2]string]Exchange
}

func newWorld() *world {
	return &world{map[[2]string]int64{}, map[[2]string]bool{}, map[[2]string]Exchange{}}
}

func unordered(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// measure has the pairs of a plan exchange probes.
func (w *world) measure(t *rapid.T, p Plan) {
	for _, x := range p.Pairs {
		key := unordered(x.From, x.To)
		if w.width[key] == 0 {
			w.width[key] = rapid.Int64Range(1000, 1e8).Draw(t, "width")
		}
		w.known[[2]string{x.From, x.To}] = Exchange{From: x.From, To: x.To, Width: w.width[key], LeastRTT: w.width[key], Silent: w.silent[[2]string{x.From, x.To}]}
	}
}

func (w *world) all() (list []Exchange) {
	for _, x := range w.known {
		list = append(list, x)
	}
	return list
}

// settle plans and measures until nothing changes.
func (w *world) settle(t *rapid.T, hosts []Host, before []Pair) Plan {
	for range 10 * (len(hosts) + 2) {
		p := Make(hosts, w.all(), before)
		check(t, hosts, p)
		if reflect.DeepEqual(p.Pairs, before) {
			return p
		}
		before = p.Pairs
		w.measure(t, p)
	}
	t.Fatalf("the plan of %d hosts does not settle", len(hosts))
	return Plan{}
}

// check checks what holds of each plan of hosts that all can be connected.
func check(t *rapid.T, hosts []Host, p Plan) {
	t.Helper()
	answers := map[string]bool{}
	for _, h := range hosts {
		answers[h.Name] = h.Answers
	}
	seen := map[[2]string]bool{}
	tree := 0
	for _, x := range p.Pairs {
		if key := unordered(x.From, x.To); seen[key] {
			t.Fatalf("%v is planned twice", key)
		} else {
			seen[key] = true
		}
		if !answers[x.To] {
			t.Fatalf("%+v asks a host that cannot be asked", x)
		}
		if !x.Spare {
			tree++
		}
	}
	if n := len(hosts); len(p.Pairs) > 2*n-1 || tree != n-1 {
		t.Fatalf("%d pairs, %d of them of the tree, for %d hosts", len(p.Pairs), tree, n)
	}
	if parts := partsOf(hosts, p.Pairs, false); len(parts) != 1 || len(p.Parts) != 1 {
		t.Fatalf("the tree connects %v, the plan says %v", parts, p.Parts)
	}
}

// partsOf returns what pairs connect, by a search of its own.
func partsOf(hosts []Host, pairs []Pair, spares bool) (parts [][]string) {
	next := map[string][]string{}
	for _, x := range pairs {
		if !x.Spare || spares {
			next[x.From], next[x.To] = append(next[x.From], x.To), append(next[x.To], x.From)
		}
	}
	seen := map[string]bool{}
	for _, h := range hosts {
		if seen[h.Name] {
			continue
		}
		part := []string{h.Name}
		seen[h.Name] = true
		for i := 0; i < len(part); i++ {
			for _, to := range next[part[i]] {
				if !seen[to] {
					seen[to] = true
					part = append(part, to)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

func TestAPlanConnectsAllHostsByFewPairsAndSettles(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		newWorld().settle(t, hostsOf(t, 20), nil)
	})
}

func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		hosts, w := hostsOf(t, 20), newWorld()
		first := Make(hosts, nil, nil)
		w.measure(t, first)
		known, before := w.all(), first.Pairs
		want := Make(hosts, known, before)
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		hosts, before = slices.Clone(hosts), slices.Clone(before)
		r.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		r.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		r.Shuffle(len(before), func(i, j int) { before[i], before[j] = before[j], before[i] })
		if got := Make(hosts, known, before); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, and in another order %+v", want, got)
		}
	})
}

// treeOf returns the tree of a plan without a host.
func treeOf(p Plan, without string) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, x := range p.Pairs {
		if !x.Spare && x.From != without && x.To != without {
			out[unordered(x.From, x.To)] = true
		}
	}
	return out
}

func TestAHostThatComesChangesNothingOfTheTreeButItsOwnPair(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		hosts, w := hostsOf(t, 20), newWorld()
		before := w.settle(t, hosts, nil)
		all := append(slices.Clone(hosts), Host{Name: "NEW", Answers: rapid.Bool().Draw(t, "answers")})
		after := Make(all, w.all(), before.Pairs)
		check(t, all, after)
		if old, now := treeOf(before, ""), treeOf(after, "NEW"); !reflect.DeepEqual(old, now) {
			t.Fatalf("tree %v became %v", old, now)
		}
	})
}

func TestAHostThatGoesTakesItsOwnPairsOnly(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		hosts, w := hostsOf(t, 20), newWorld()
		before := w.settle(t, hosts, nil)
		at := rapid.IntRange(0, len(hosts)-1).Draw(t, "who goes")
		gone := hosts[at].Name
		left := slices.Delete(slices.Clone(hosts), at, at+1)
		if !slices.ContainsFunc(left, func(h Host) bool { return h.Answers }) {
			return
		}
		after := Make(left, w.all(), before.Pairs)
		check(t, left, after)
		now := treeOf(after, "")
		for pair := range treeOf(before, gone) {
			if !now[pair] {
				t.Fatalf("%v is not of the tree any more, since %s went: %+v", pair, gone, after)
			}
		}
	})
}

func TestAHostThatFallsSilentIsReachedOverAnother(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		hosts, w := hostsOf(t, 20), newWorld()
		for i := range hosts {
			hosts[i].Answers = true
		}
		before := w.settle(t, hosts, nil)
		if len(before.Pairs) < 2 {
			return
		}
		x := before.Pairs[rapid.IntRange(0, len(before.Pairs)-1).Draw(t, "pair")]
		for _, direction := range [][2]string{{x.From, x.To}, {x.To, x.From}} {
			w.known[direction] = Exchange{From: direction[0], To: direction[1], Silent: true}
		}
		after := Make(hosts, w.all(), before.Pairs)
		check(t, hosts, after)
		if slices.ContainsFunc(after.Pairs, func(y Pair) bool { return unordered(x.From, x.To) == unordered(y.From, y.To) }) {
			t.Fatalf("%+v does not answer and is planned again: %+v", x, after.Pairs)
		}
	})
}

// One direction may be closed by a firewall.
func TestAPairThatIsSilentOneWayIsTriedTheOther(t *testing.T) {
	hosts := []Host{{Name: "a", Answers: true}, {Name: "b", Answers: true}}
	first := Make(hosts, nil, nil).Pairs
	x := first[0]
	second := Make(hosts, []Exchange{{From: x.From, To: x.To, Silent: true}}, first).Pairs
	if len(second) != 1 || second[0].From != x.To || second[0].To != x.From {
		t.Errorf("%+v was silent, then %+v", first, second)
	}
	third := Make(hosts, []Exchange{{From: x.From, To: x.To, Silent: true}, {From: x.To, To: x.From, Silent: true}}, second).Pairs
	if len(third) != 1 {
		t.Errorf("the only pair there is was given up: %+v", third)
	}
}

func TestHostsOfTwoSitesMeetOnceOverTheLongWay(t *testing.T) {
	var hosts []Host
	for i := range 40 {
		hosts = append(hosts, Host{Name: fmt.Sprintf("%c%d", 'a'+i%2, i), Answers: true})
	}
	known := map[[2]string]Exchange{}
	var plan Plan
	for range 60 {
		var list []Exchange
		for _, x := range known {
			list = append(list, x)
		}
		plan = Make(hosts, list, plan.Pairs)
		for _, x := range plan.Pairs {
			width := int64(100_000)
			if x.From[0] != x.To[0] {
				width = 20_000_000
			}
			known[[2]string{x.From, x.To}] = Exchange{From: x.From, To: x.To, Width: width, LeastRTT: width / 2}
		}
	}
	far := 0
	for _, x := range plan.Pairs {
		if !x.Spare && x.From[0] != x.To[0] {
			far++
		}
	}
	if far != 1 {
		t.Errorf("%d pairs of the tree lead over the long way", far)
	}
	if most := 40 * 39 / 2 / 2; len(known) > most {
		t.Errorf("%d pairs were tried, more than half of all", len(known))
	}
}

func TestNoHostHasToAnswerAll(t *testing.T) {
	var hosts []Host
	for i := range 500 {
		hosts = append(hosts, Host{Name: fmt.Sprint("host", i), Answers: true})
	}
	plan := Make(hosts, nil, nil)
	degree := map[string]int{}
	for _, x := range plan.Pairs {
		degree[x.From]++
		degree[x.To]++
	}
	for name, n := range degree {
		if n > maxDegree+1 {
			t.Errorf("%s has %d pairs", name, n)
		}
	}
	// Without its hosts of most pairs the rest stays mostly connected over spare pairs.
	if parts := partsOf(hosts, plan.Pairs, true); len(parts) != 1 {
		t.Errorf("%d parts", len(parts))
	}
}

func TestOnlyHostsOfAScopeAreAskedWithinIt(t *testing.T) {
	hosts := []Host{{"a", true, "this"}, {"b", true, "this"}, {"c", true, ""}, {"d", false, "other"}, {"e", true, "third"}}
	for _, x := range Make(hosts, nil, nil).Pairs {
		if x.To == "d" || x.To == "e" || (x.To == "a" || x.To == "b") && x.From != "a" && x.From != "b" {
			t.Errorf("%+v cannot be", x)
		}
	}
	plan := Make(append(hosts[:2:2], hosts[3:]...), nil, nil)
	if want := [][]string{{"a", "b"}, {"d"}, {"e"}}; !reflect.DeepEqual(plan.Parts, want) {
		t.Errorf("parts %v, not %v", plan.Parts, want)
	}
}

func TestWideBoundsHaveMoreExchanges(t *testing.T) {
	hosts := []Host{{Name: "a", Answers: true}, {Name: "b"}}
	var before []Pair
	for _, step := range []struct {
		width int64
		rate  float64
	}{{0, BaseRate}, {90_000, WideRate}, {30_000, WideRate}, {19_000, BaseRate}, {30_000, BaseRate}, {45_000, WideRate}, {0, BaseRate}} {
		plan := Make(hosts, []Exchange{{From: "b", To: "a", Width: step.width, LeastRTT: 10_000}}, before)
		if before = plan.Pairs; len(before) != 1 || before[0].Rate != step.rate {
			t.Errorf("width %d of round trips of 10 µs: %+v, not rate %v", step.width, before, step.rate)
		}
	}
}

// Bounds within a machine are many round trips wide, and exchanges do not mend that.
func TestBoundsOfAFewMicrosecondsAreNotWide(t *testing.T) {
	hosts := []Host{{Name: "a", Answers: true}, {Name: "b"}}
	for width, rate := range map[int64]float64{19_000: BaseRate, 25_000: WideRate} {
		if plan := Make(hosts, []Exchange{{From: "b", To: "a", Width: width, LeastRTT: 500}}, nil); plan.Pairs[0].Rate != rate {
			t.Errorf("width %d: %+v", width, plan.Pairs)
		}
	}
}

func TestWhatAgentsSayCannotBreakThePlan(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "a", "b", "c", "d"})
		hosts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Host {
			return Host{name.Draw(t, "name"), rapid.Bool().Draw(t, "answers"), rapid.SampledFrom([]string{"", "x"}).Draw(t, "scope")}
		}), 0, 6).Draw(t, "hosts")
		known := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Exchange {
			return Exchange{name.Draw(t, "from"), name.Draw(t, "to"), rapid.Int64().Draw(t, "width"), rapid.Int64().Draw(t, "rtt"), rapid.Bool().Draw(t, "silent")}
		}), 0, 10).Draw(t, "known")
		before := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pair {
			return Pair{From: name.Draw(t, "from"), To: name.Draw(t, "to"), Rate: rapid.Float64().Draw(t, "rate")}
		}), 0, 10).Draw(t, "before")
		for _, x := range Make(hosts, known, before).Pairs {
			if x.From == x.To || x.Rate != BaseRate && x.Rate != WideRate {
				t.Fatalf("%+v", x)
			}
		}
	})
}

func BenchmarkMake(b *testing.B) {
	for _, n := range []int{64, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var hosts []Host
			for i := range n {
				hosts = append(hosts, Host{Name: fmt.Sprint("host", i), Answers: true})
			}
			before := Make(hosts, nil, nil).Pairs
			for b.Loop() {
				Make(hosts, nil, before)
			}
		})
	}
}
