package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"meridian/internal/cause"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
)

func TestThePathThroughThreadsNamesThePacketAndTheLock(t *testing.T) {
	t.Parallel()
	x, err := NewTimeline(indextest.Kernels(t))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	list, err := x.Requests(RequestQuery{Text: "client", Sort: "begin"})
	if err != nil || len(list.Requests) != indextest.KernelRequests {
		t.Fatalf("%d requests: %v", len(list.Requests), err)
	}
	for i, r := range list.Requests {
		if want := map[bool]int{true: 1}[i == indextest.SentAgain]; r.Again != want {
			t.Errorf("of request %d %d packets were sent again, want %d", i, r.Again, want)
		}
	}
	const us = 1000
	writer := 2
	for i, c := range map[int]struct {
		name   string // of what is beyond like requests
		host   int
		detail string // of the longest piece
		locks  []LockWait
	}{
		indextest.LockAlone:  {"lock", 1, "", []LockWait{{writer, 17_770 * us, 0, 0, []int{}}}},
		indextest.SentAgain:  {"retransmission", 1, "10.0.0.2:7000 → 10.0.0.1:40000, 16 bytes from sequence number 129", nil},
		indextest.Queued:     {"run queue", 2, "CPU 0 ran thread 333", nil},
		indextest.LockAcross: {"sleep", 2, "clock_nanosleep", []LockWait{{writer, 26_250 * us, 25_410 * us, 0, []int{2}}}},
	} {
		p, err := x.Path(list.Requests[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		longest, sum := p.Pieces[0], int64(0)
		for _, y := range p.Pieces {
			if sum += y.End - y.Begin; y.End-y.Begin > longest.End-longest.Begin {
				longest = y
			}
		}
		if sum != p.Request.Total || longest.Detail != c.detail {
			t.Errorf("request %d: pieces sum to %d of %d, the longest is %+v", i, sum, p.Request.Total, longest)
		}
		if len(p.Beyond) != 1 || p.Items[p.Beyond[0]].Name != c.name || p.Items[p.Beyond[0]].Host != c.host {
			t.Errorf("request %d: %v of %+v is beyond like requests", i, p.Beyond, p.Items)
		}
		if where := disjoint(p.Pieces); where != "" {
			t.Errorf("request %d: %s", i, where)
		}
		if !reflect.DeepEqual(p.Locks, c.locks) {
			t.Errorf("request %d: locks are %+v, want %+v", i, p.Locks, c.locks)
		}
	}
}

// disjoint says where a message of a path does not begin or end on the row that the path has before or after it.
func disjoint(pieces []Piece) string {
	for i := 1; i < len(pieces); i++ {
		p, q := &pieces[i-1], &pieces[i]
		ends, begins := p.Row, q.From
		if q.From < 0 {
			begins = q.Row
		}
		if (p.From >= 0 || q.From >= 0) && ends != begins {
			return fmt.Sprintf("%+v ends on row %d, and %+v begins on row %d", *p, ends, *q, begins)
		}
	}
	return ""
}

func TestALockIsHeldAcrossHostsWhereItsHolderWaitedForAnother(t *testing.T) {
	t.Parallel()
	a := &index.About{Rows: []index.Row{{Host: 0}, {Host: 1}, {Host: 2}}}
	at := int64(0)
	piece := func(row, from, depth int, wait cause.Wait, s cause.State) cause.Piece {
		at += 10
		return cause.Piece{Row: row, From: from, Begin: at - 10, End: at, Depth: depth, Wait: wait, State: s}
	}
	run := func(depth int) cause.Piece { return piece(1, -1, depth, cause.NoWait, cause.CPU) }
	holder := func(depth int, s cause.State) cause.Piece { return piece(1, -1, depth, cause.ForLock, s) }
	for name, c := range map[string]struct {
		pieces []cause.Piece
		want   []LockWait
	}{
		"no lock":                                 {[]cause.Piece{run(1), piece(2, 1, 1, 0, 0), piece(2, -1, 2, 0, cause.CPU), piece(1, 2, 1, 0, 0), run(1)}, nil},
		"before it another is asked":              {[]cause.Piece{piece(1, 2, 1, 0, 0), run(1), holder(2, cause.CPU), run(1), piece(2, 1, 1, 0, 0)}, []LockWait{{1, 10, 0, 0, []int{}}}},
		"the wait begins there":                   {[]cause.Piece{run(1), piece(2, -1, 3, 0, cause.Sleep), piece(1, 2, 2, 0, 0), holder(2, cause.CPU), run(1)}, []LockWait{{1, 30, 20, 0, []int{2}}}},
		"the holder's host asked is not recorded": {[]cause.Piece{run(1), holder(2, cause.Peer), holder(2, cause.CPU), run(1)}, []LockWait{{1, 20, 0, 10, []int{}}}},
		"undecided":                               {[]cause.Piece{holder(2, cause.CPU), piece(2, -1, 3, 0, cause.Undecided), run(1)}, []LockWait{{1, 20, 0, 10, []int{2}}}},
		"a lock behind a lock":                    {[]cause.Piece{run(1), piece(2, 1, 2, 0, 0), piece(2, -1, 4, cause.ForLock, cause.CPU), piece(1, 2, 2, 0, 0), holder(2, cause.CPU), run(1)}, []LockWait{{1, 40, 30, 0, []int{2}}}},
		"two after each other":                    {[]cause.Piece{holder(2, cause.CPU), run(1), holder(2, cause.Sleep), holder(3, cause.Disk)}, []LockWait{{1, 10, 0, 0, []int{}}, {1, 20, 0, 0, []int{}}}},
	} {
		if got := locksOf(a, c.pieces); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Packets are few, and the events of threads bound what is read.
func TestEventsOfThreadsAreBounded(t *testing.T) {
	t.Parallel()
	count := 0
	for _, most := range []int{40, 300, 0} {
		x, err := NewTimeline(indextest.Kernels(t))
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		x.causes.mostOfThreads = most
		list, err := x.Requests(RequestQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if list.Count < count || (list.UpTo == 0) != (most == 0) {
			t.Errorf("of %d events of threads %d requests up to %d, after %d", most, list.Count, list.UpTo, count)
		}
		count = list.Count
	}
	if count == 0 {
		t.Error("no requests")
	}
}

// Of each thread the states of a stretch sum to it. The worker waits for the writer's lock in two requests alone, 18 and 27 ms long.
func TestStatesOfThreadsAreSummedUpOverAStretch(t *testing.T) {
	t.Parallel()
	x, err := NewTimeline(indextest.Kernels(t))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	a := x.About()
	server := httptest.NewServer(Handler(x))
	defer server.Close()
	var got States
	status, body := answered(t, server.URL, fmt.Sprintf("states?from=0&to=%d&without=0", a.Span+1))
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	sums, locked := map[int]int64{}, int64(0)
	for _, s := range got.States {
		if sums[s.Row] += s.Sum; s.Row == 1 && s.Why == "lock" {
			locked += s.Sum
		}
	}
	for row, sum := range sums {
		if sum != a.Span+1 || row == 0 {
			t.Errorf("states of row %d sum to %d of %d", row, sum, a.Span+1)
		}
	}
	if want := int64(17_770_000 + 26_250_000); locked != want {
		t.Errorf("the worker waited %d ns for locks, want %d: %s", locked, want, body)
	}
	if got.Threads != len(sums) || got.Threads < 5 || got.None != "" || got.Left != 0 || got.UpTo != 0 {
		t.Errorf("%+v", got)
	}
	x.causes = causes{mostOfThreads: 40}
	if few, err := x.States(t.Context(), 0, a.Span, func(int) bool { return true }); err != nil || few.UpTo == 0 {
		t.Errorf("it is not said how far events were read: %+v, %v", few, err)
	}
	if status, _ := answered(t, server.URL, "states?without=1-"); status != http.StatusBadRequest {
		t.Errorf("a list that is wrong is answered with %d", status)
	}
}
