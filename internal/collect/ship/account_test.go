package ship

import (
	"slices"
	"testing"

	"meridian/internal/collect/wire"
	"meridian/internal/spool"
)

func TestAServerInWhosePlaceAnotherIsAskedIsNotTrustedByTheNextAgent(t *testing.T) {
	dir := t.TempDir()
	d := newDirectory(dir, DefaultClasses)
	d.trace = "0123456789abcdef0123456789abcdef"
	a, b, c := &peer{name: "a", state: open}, &peer{name: "b", state: open}, &peer{name: "c", state: opening}
	p := &plan{d: d}
	account := newAccount(p, 2, 1<<20, t.Logf)
	account.Account, account.began = spool.New(d.trace), true
	account.Servers = []string{"a", "b"}
	for _, step := range []struct {
		peers []*peer
		want  []string
	}{
		{[]*peer{a, b}, nil},           // nothing has changed, and nothing is written
		{[]*peer{b}, nil},              // a is away: less than all is acknowledged
		{[]*peer{b, c}, []string{"b"}}, // c is asked in its place
		{[]*peer{a, c}, []string{}},
	} {
		p.peers = step.peers
		account.replaced()
		written, err := spool.Read(dir)
		if got := written.Servers; step.want == nil && err == nil || step.want != nil && (err != nil || !slices.Equal(got, step.want)) {
			t.Errorf("with %d servers, of which the first is %s, the account trusts %v (%v), not %v", len(step.peers), step.peers[0].name, got, err, step.want)
		}
	}
}

// Two servers had all of a file, then a third took the place of one. Less was acknowledged then, and what the one had acknowledged was forgotten: it counted as
// lost, or what another had of it after a power cut as right.
func TestWhatServersAcknowledgedIsRememberedWhenAnotherTakesThePlaceOfOne(t *testing.T) {
	have := func(name string, n int64) *peer {
		return &peer{name: name, state: open, files: map[string]*progress{"k": {have: n, sent: n}}}
	}
	p := &plan{d: newDirectory(t.TempDir(), DefaultClasses)}
	account := newAccount(p, 2, 1<<20, t.Logf)
	account.Account = spool.New("0123456789abcdef0123456789abcdef")
	x := spool.Part{Size: 100, Acknowledged: 100, Servers: []string{"a", "b"}}
	p.peers = []*peer{have("b", 100), have("c", 40)}
	x.Had = account.had("k", &x)
	x.Acknowledged, x.Servers = 40, p.holders("k", 40)
	account.Gone["k"], account.Servers = x, []string{"c"}
	for _, test := range []struct {
		server       string
		have         int64
		doubt        bool
		acknowledged int64
		sure         bool
	}{
		{"a", 100, true, 100, true},
		{"b", 100, true, 100, true},
		{"c", 40, true, 40, true},
		{"c", 70, false, 40, true}, // the agent may not have written down what came last
		{"c", 70, true, 40, false},
		{"d", 70, false, 0, false},
	} {
		n, sure := account.earlier(test.server, &wire.State{Name: "k", Have: test.have, Doubt: test.doubt})
		if n != test.acknowledged || sure != test.sure {
			t.Errorf("%+v: %d, %t", test, n, sure)
		}
	}
}

// The host lost the end of a file that servers had acknowledged. A server that loses its disk then has lost it for good.
func TestWhatThePowerTookFromTheHostIsLostWhenServersLoseItToo(t *testing.T) {
	d := newDirectory(t.TempDir(), DefaultClasses)
	f := &file{name: "k", whole: 40, walker: newWalker("k")}
	d.files["k"], d.order, d.past = f, []*file{f}, true
	server := &peer{name: "a", state: open, files: map[string]*progress{"k": {have: 100, sent: 100}}}
	account := newAccount(&plan{d: d, peers: []*peer{server}}, 1, 1<<20, t.Logf)
	account.Account = spool.New("0123456789abcdef0123456789abcdef")
	account.powerCut(f, spool.Part{Size: 130, Packets: 4, Lacking: 1, Acknowledged: 100, Servers: []string{"a"}})
	for _, test := range []struct{ have, acknowledged, lost int64 }{{100, 100, 30}, {40, 40, 90}, {0, 0, 90}} {
		server.files["k"].have = test.have
		account.review()
		if x := account.sum(); x.Recorded != 130 || x.Acknowledged != test.acknowledged || x.Lost != test.lost {
			t.Errorf("a server has %d bytes: %+v", test.have, x)
		}
	}
}
