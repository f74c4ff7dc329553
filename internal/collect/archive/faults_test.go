package archive

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"meridian/internal/s3"
	"meridian/internal/s3/s3test"
)

// Whichever request of archiving, removing and expiring is refused, the next pass goes on, and nothing goes from the disk that the object
// store lacks.
func TestEachRequestMayFailOnce(t *testing.T) {
	for kth := 0; ; kth++ {
		l := newLab(t, 31)
		l.now = time.Now()
		l.document("web")
		l.append("web", "kernel_0", part+5)
		l.append("web", "packets/web.pcapng", 9)
		l.host("web").Stored()
		want := l.local()
		a := l.keeping()
		requests, refused := 0, false
		refuse := func(w http.ResponseWriter, _ *http.Request) bool {
			if requests++; requests != kth+1 {
				return false
			}
			refused = true
			s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}
		l.objects.Inject(refuse)
		fails := 0
		step := func(d time.Duration) {
			l.now = l.now.Add(d)
			if err := a.Pass(t.Context()); err != nil {
				if fails++; !strings.Contains(err.Error(), "AccessDenied") {
					t.Errorf("request %d: %v", kth, err)
				}
			}
		}
		for range 5 {
			step(time.Minute + time.Second)
		}
		if len(l.local()) > 0 && len(l.local()) != len(want) {
			t.Errorf("request %d: %d of %d files are on the disk", kth, len(l.local()), len(want))
		}
		l.objects.Inject(nil) // of this reader all succeed
		if len(l.local()) == 0 {
			l.compare(want)
		}
		l.objects.Inject(refuse)
		a.o.Expire = 10 * time.Hour
		l.now = l.now.Add(1000 * time.Hour)
		for range 6 {
			step(3 * time.Hour)
		}
		if n := len(l.objects.Objects("bucket")); n != 0 || len(l.local()) != 0 {
			t.Errorf("request %d: %d objects are left, %d files on the disk", kth, n, len(l.local()))
		}
		if !refused {
			if kth < 8 || fails > 0 {
				t.Errorf("%d requests, %d passes failed", kth, fails)
			}
			return
		}
		if fails != 1 {
			t.Errorf("request %d: %d passes failed", kth, fails)
		}
	}
}

// Servers ask what of a trace any of them has archived: the most, and of that trace alone.
func TestWhatAllServersHaveArchivedIsKnown(t *testing.T) {
	l := newLab(t, 32)
	l.document("web")
	l.append("web", "kernel_0", part)
	first := l.archive("one")
	if have, err := first.Has(t.Context(), "night", "web", l.traces["web"]); err != nil || len(have) > 0 {
		t.Errorf("nothing is archived: %v, %v", have, err)
	}
	l.pass(first)
	l.append("web", "kernel_0", part)
	second := l.archive("two")
	l.pass(second)
	l.now = l.now.Add(2 * time.Minute)
	l.pass(second)
	for _, a := range []*Archive{first, second} {
		have, err := a.Has(t.Context(), "night", "web", l.traces["web"])
		if err != nil || have["kernel_0"] != 2*part || have["metadata"] == 0 {
			t.Errorf("%v, %v", have, err)
		}
		if have, err := a.Has(t.Context(), "night", "web", "another"); err != nil || len(have) > 0 {
			t.Errorf("of another trace: %v, %v", have, err)
		}
		if have, err := a.Has(t.Context(), "day", "web", l.traces["web"]); err != nil || len(have) > 0 {
			t.Errorf("of another session: %v, %v", have, err)
		}
	}
	// An index that cannot be read is not nothing: whoever asks would count as lost what is there.
	key := s3.IndexKey(first.dir("night"), "two")
	l.objects.Put("bucket", key, []byte("{"))
	if have, err := first.Has(t.Context(), "night", "web", l.traces["web"]); err == nil || !strings.Contains(err.Error(), "two") {
		t.Errorf("%v, %v", have, err)
	}
	l.objects.Remove("bucket", key)
	if have, err := first.Has(t.Context(), "night", "web", l.traces["web"]); err != nil || have["kernel_0"] < part {
		t.Errorf("%v, %v", have, err)
	}
	l.objects.Inject(func(w http.ResponseWriter, _ *http.Request) bool {
		s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	if _, err := first.Has(t.Context(), "night", "web", l.traces["web"]); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Error(err)
	}
}

// Where the index is another one's, this server must not write over it.
func TestAnIndexOfAnotherServerOrSessionIsNotReplaced(t *testing.T) {
	l := newLab(t, 33)
	l.document("web")
	l.append("web", "kernel_0", part)
	first := l.archive("one")
	l.pass(first)
	index := l.objects.Objects("bucket")[s3.IndexKey(first.dir("night"), "one")]
	if len(index) == 0 {
		t.Fatal("no index")
	}
	for says, text := range map[string][]byte{"server \"one\"": index, "move it away": []byte("{")} {
		key := s3.IndexKey(first.dir("night"), "two")
		l.objects.Put("bucket", key, text)
		if err := l.archive("two").Pass(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if now := l.objects.Objects("bucket")[key]; string(now) != string(text) {
			t.Errorf("%s: the index has been replaced", says)
		}
	}
}
