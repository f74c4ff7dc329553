package collect

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/wire"
)

// planning is a server that plans, without a broker, at instants of the test's own.
type planning struct {
	t      *testing.T
	clocks *clocks
	now    time.Time
	plans  map[string]wire.ProbePlan // by host
	count  int
	said   []string
}

func newPlanning(t *testing.T, name string) *planning {
	p := &planning{t: t, now: time.Unix(1e9, 0), plans: map[string]wire.ProbePlan{}}
	p.clocks = &clocks{server: name, sessions: map[string]*sessionClocks{}, log: func(format string, args ...any) { p.said = append(p.said, fmt.Sprintf(format, args...)) }}
	p.clocks.publish = func(subject string, b []byte) error {
		host, err := wire.HostOf(subject)
		plan, decodeErr := wire.Decode[wire.ProbePlan](b)
		if err != nil || decodeErr != nil || subject != wire.OfHost(host, "plan") {
			t.Fatal(subject, err, decodeErr)
		}
		if err := plan.Check(host, "night"); err != nil {
			t.Fatalf("the plan of %s: %v", host, err)
		}
		p.plans[host] = plan
		p.count++
		return nil
	}
	return p
}

func agentOf(host, address string, pairs ...wire.ProbePair) Agent {
	return Agent{AgentStatus: wire.AgentStatus{Host: host, Session: "night", Probing: &wire.Probing{Address: address, Pairs: pairs}}}
}

// pass has the agents say that they are there for some seconds.
func (p *planning) pass(seconds int, agents []Agent, servers ...string) {
	p.t.Helper()
	for range seconds {
		p.now = p.now.Add(time.Second)
		for i := range agents {
			agents[i].Seen = p.now
		}
		if err := p.clocks.step(p.now, agents, servers); err != nil {
			p.t.Fatal(err)
		}
		p.clocks.next = time.Time{}
	}
}

// asks returns who asks whom.
func (p *planning) asks() map[string]string {
	out := map[string]string{}
	for from, plan := range p.plans {
		for _, to := range plan.Ask {
			out[from+">"+to.Host] = to.Address
		}
	}
	return out
}

func TestAPlanHasOneKeyAndIsPublishedEachSecond(t *testing.T) {
	p := newPlanning(t, "s")
	agents := []Agent{agentOf("a", "10.0.0.1:1"), agentOf("b", "10.0.0.2:2")}
	p.pass(1, agents[:1], "s")
	if p.count != 0 {
		t.Errorf("a host alone got %+v", p.plans)
	}
	p.pass(1, agents, "s")
	if p.count != 2 || p.plans["a"].Key != p.plans["b"].Key || len(p.asks()) != 1 {
		t.Errorf("%d plans: %+v", p.count, p.plans)
	}
	p.pass(10, agents, "s")
	if p.count != 2+2*10 {
		t.Errorf("%d plans in 10 s", p.count)
	}
	agents[0].Probing.Address, agents[1].Probing.Address = "10.0.0.1:7", "10.0.0.2:7"
	p.pass(1, agents, "s")
	for pair, address := range p.asks() {
		if !strings.HasSuffix(address, ":7") {
			t.Errorf("%s at %s, which is not its address any more", pair, address)
		}
	}
	key := p.plans["a"].Key
	agents[0].Ended, agents[1].Ended = true, true
	p.pass(1, agents, "s")
	agents[0].Ended, agents[1].Ended = false, false
	p.pass(1, agents, "s")
	if p.plans["a"].Key == key {
		t.Error("a session that has ended left its key to the next")
	}
}

func TestOneServerPlansASession(t *testing.T) {
	servers := []string{"s1", "s2", "s3"}
	agents := []Agent{agentOf("a", "10.0.0.1:1"), agentOf("b", "10.0.0.2:2")}
	planners := 0
	for _, name := range servers {
		p := newPlanning(t, name)
		if p.pass(1, agents, servers...); p.count > 0 {
			planners++
			better := "t"
			for wire.Weight("night", better) <= wire.Weight("night", name) {
				better += "t"
			}
			if p.pass(1, agents, name, better); len(p.clocks.sessions) > 0 {
				t.Error("a server that does not plan any more has kept the session")
			}
		}
	}
	if planners != 1 {
		t.Errorf("%d servers plan", planners)
	}
}

func TestAHostThatDoesNotAnswerIsAskedByNoOneForAWhile(t *testing.T) {
	p := newPlanning(t, "s")
	agents := []Agent{agentOf("a", "10.0.0.1:1"), agentOf("b", ""), agentOf("c", "10.0.0.3:1")}
	p.pass(1, agents, "s")
	if asks := p.asks(); len(asks) > 3 || asks["b>a"] == "" && asks["b>c"] == "" {
		t.Fatal(asks)
	}
	silent := func() {
		agents[1].Probing.Pairs = nil
		for _, x := range p.plans["b"].Ask {
			agents[1].Probing.Pairs = append(agents[1].Probing.Pairs, wire.ProbePair{Host: x.Host, Silent: x.Host == "a", WidthNs: 5000, LeastRTTNs: 3000, Exchanges: 9})
		}
	}
	for range 30 {
		silent()
		p.pass(1, agents, "s")
	}
	if asks := p.asks(); asks["b>a"] != "" || asks["b>c"] == "" {
		t.Errorf("a does not answer b: %v", asks)
	}
	agents[1].Probing.Pairs = []wire.ProbePair{{Host: "c", WidthNs: 5000, LeastRTTNs: 3000}}
	again := false
	for range int(silentUntil/time.Second) + 5 {
		p.pass(1, agents, "s")
		again = again || p.asks()["b>a"] != ""
	}
	if !again {
		t.Error("a is never tried again")
	}
}

// An agent may say what it likes of hosts: what it was not planned to ask counts for nothing.
func TestWhatWasNotPlannedIsNotLearnt(t *testing.T) {
	p := newPlanning(t, "s")
	liar := agentOf("a", "10.0.0.1:1")
	for i := range 200 {
		liar.Probing.Pairs = append(liar.Probing.Pairs, wire.ProbePair{Host: fmt.Sprint("h", i), WidthNs: 1})
	}
	agents := []Agent{liar, agentOf("b", "10.0.0.2:1"), agentOf("c", "10.0.0.3:1")}
	p.pass(30, agents, "s")
	if s := p.clocks.sessions["night"]; len(s.known) > 0 || len(s.asked) > 5 {
		t.Errorf("%d exchanges are known, %d asked", len(s.known), len(s.asked))
	}
}

func TestHostsThatCannotBeConnectedAreTold(t *testing.T) {
	p := newPlanning(t, "s")
	agents := []Agent{agentOf("a", "127.0.0.1:1"), agentOf("b", ""), agentOf("e", "")}
	p.pass(5, agents, "s")
	if p.said != nil {
		t.Errorf("said at once: %q", p.said)
	}
	p.pass(20, agents, "s")
	if want := []string{"session night: clock probes cannot connect all hosts: 3 groups (a | b | e): have agents answer where others reach them, by --probe-address"}; !reflect.DeepEqual(p.said, want) {
		t.Errorf("said %q", p.said)
	}
	agents[1].Probing.Address = "10.0.0.2:1"
	p.pass(2, agents, "s")
	if len(p.said) != 2 || p.said[1] != "session night: clock probes connect all hosts" {
		t.Errorf("said %q", p.said)
	}
}

func TestAServerThatDiesPlansNoMoreAfterThreeSecondsAndAHalf(t *testing.T) {
	death := time.Unix(1e9, 0)
	for phase := time.Duration(0); phase < planEvery; phase += planEvery / 20 { // of the other's plans
		a, b := "s1", "s2"
		if wire.Weight("night", a) < wire.Weight("night", b) {
			a, b = b, a
		}
		s, p := &Server{o: ServerOptions{Name: b}, others: map[string]time.Time{}}, newPlanning(t, b)
		agents := []Agent{agentOf("a", "10.0.0.1:1"), agentOf("b", "10.0.0.2:2")}
		s.serverAlive(wire.Encode(wire.ServerStatus{Version: wire.Version, Server: a, Plans: true}), death)
		for p.now = death.Add(phase); p.count == 0; p.now = p.now.Add(planEvery) {
			for i := range agents {
				agents[i].Seen = p.now
			}
			if p.clocks.next = (time.Time{}); p.now.Sub(death) > plansWithin+planEvery {
				t.Fatalf("no plan %v after the other server's death", p.now.Sub(death))
			}
			if err := p.clocks.step(p.now, agents, s.planners(p.now)); err != nil {
				t.Fatal(err)
			}
			if p.count > 0 && p.now.Sub(death) < plansWithin {
				t.Errorf("it plans %v after it heard the other", p.now.Sub(death))
			}
		}
	}
}
