package ship

import (
	"testing"
	"time"
)

func TestATroubleIsToldSinceItBegan(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	var x troubles
	after := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	tell := func(s, open int, want string) {
		t.Helper()
		x.count(open, 2, after(s))
		if got := x.text(open, 2, after(s)); got != want {
			t.Errorf("after %d s: %q, want %q", s, got, want)
		}
	}
	tell(0, 2, "")
	for s := range 30 { // it fails each second, and agrees in between
		if news := x.add("b", "full", after(s)); news != (s == 0) {
			t.Errorf("after %d s: news: %v", s, news)
		}
		tell(s, 1, "server b, since 2026-01-02T15:04:05Z: full")
	}
	if !x.add("a", "refused", after(30)) || !x.add("b", "fuller", after(30)) {
		t.Error("another reason is no news")
	}
	tell(30, 1, "server a, since 2026-01-02T15:04:35Z: refused; server b, since 2026-01-02T15:04:05Z: fuller")
	tell(39, 2, "server a, since 2026-01-02T15:04:35Z: refused; server b, since 2026-01-02T15:04:05Z: fuller")
	tell(40, 2, "")
	tell(50, 1, "")
	tell(59, 1, "")
	tell(60, 1, "since 2026-01-02T15:04:55Z 1 of 2 servers store it: start another 'meridian server', or the agent with fewer --replicas")
	if !x.add("b", "full", after(60)) {
		t.Error("what comes back is no news")
	}
	tell(60, 1, "server b, since 2026-01-02T15:05:05Z: full")
	tell(75, 2, "")
}
