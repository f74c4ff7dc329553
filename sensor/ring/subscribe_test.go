package ring

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Any number of programs may look on. None of them may take what is another's, or change what the program does.
func TestSubscribersReadBesideTheReaderAndTakeNothing(t *testing.T) {
	t.Parallel()
	w := made(t, Options{Overwrite: true, Shards: 1})
	class := registered(t, w, "step")
	for n := range uint64(5) {
		emit(w.Shard(0), class.ID, 64, n)
	}
	reader := opened(t, w.Path())
	if got := drained(t, reader); !slices.Equal(got[0], []uint64{0, 1, 2, 3, 4}) {
		t.Fatalf("the reader has %v", got)
	}
	if err := reader.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Subscribe(w.Path())
		if err != nil {
			t.Fatal(err)
		}
		if got := drained(t, s); !slices.Equal(got[0], []uint64{0, 1, 2, 3, 4}) {
			t.Errorf("a subscriber has %v after the reader took all", got)
		}
		if at := s.Position(0); at != 5*64 {
			t.Errorf("a subscriber is at %d", at)
		}
		if err := s.Commit(); err != nil {
			t.Error(err)
		}
		if n := s.Switch(func(string, string) bool { return true }, false); n != 0 || *class.Switch != 1 {
			t.Errorf("a subscriber turned %d classes off", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(w.Path()); !errors.Is(err, ErrBusy) {
		t.Errorf("the reader's place: %v", err)
	}
	emit(w.Shard(0), class.ID, 64, 5)
	if got := drained(t, reader); !slices.Equal(got[0], []uint64{5}) {
		t.Errorf("the reader goes on with %v", got)
	}
}

// A writer that overwrites nothing waits for its one reader: somebody who looks on would see the room that it reuses.
func TestOnlyARingThatIsOverwrittenHasSubscribers(t *testing.T) {
	t.Parallel()
	w := made(t, Options{})
	if _, err := Subscribe(w.Path()); err == nil || !strings.Contains(err.Error(), "open it as that one") || !strings.Contains(err.Error(), w.Path()) {
		t.Error(err)
	}
	opened(t, w.Path())
}

// After Close the memory is gone: each method says so, or has nothing.
func TestAClosedReaderReadsNothing(t *testing.T) {
	t.Parallel()
	w := made(t, Options{Shards: 1})
	class := registered(t, w, "step")
	emit(w.Shard(0), class.ID, 64, 1)
	r := opened(t, w.Path())
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var p Packet
	_, next := r.Next(&p)
	for name, err := range map[string]error{"Next": next, "Round": r.Round(), "Commit": r.Commit(), "Snapshot": r.Snapshot(func(*Packet) error { return nil })} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := r.Discarded(0); n != 0 {
		t.Errorf("%d events discarded", n)
	}
	if r.Position(-1) != 0 || r.Position(1) != 0 {
		t.Error("shards that there are not have positions")
	}
	if got := drained(t, opened(t, w.Path())); !slices.Equal(got[0], []uint64{1}) {
		t.Errorf("the next reader has %v", got)
	}
}

func TestAnErrorOfTheCallerEndsASnapshot(t *testing.T) {
	t.Parallel()
	w := made(t, Options{})
	class := registered(t, w, "step")
	emit(w.Shard(0), class.ID, 64, 1)
	emit(w.Shard(1), class.ID, 64, 2)
	full, calls := errors.New("disk full"), 0
	if err := opened(t, w.Path()).Snapshot(func(*Packet) error { calls++; return full }); !errors.Is(err, full) || calls != 1 {
		t.Errorf("%v after %d packets", err, calls)
	}
}
