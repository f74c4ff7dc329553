package ship

import (
	"slices"
	"testing"

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
