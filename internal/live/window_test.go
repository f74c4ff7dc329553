package live

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

// number is the content of a datagram that no other has.
func number(n int) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 64), uint64(n)*0x9e3779b97f4a7c15)
}

// TestMessagesWhoseSenderShowsLaterAreFound sends one way only for some seconds: without flags of directions or addresses, nothing tells
// the sender before an answer comes.
func TestMessagesWhoseSenderShowsLaterAreFound(t *testing.T) {
	for _, silent := range []time.Duration{3 * time.Second, 7 * time.Second} {
		w := &wire{t: t}
		for i := range 160 {
			at := time.Duration(i) * silent / 80
			delay := 150*time.Microsecond + time.Duration(13*i) // timestamps that are all on a grid look coarse
			w.send(0, at, delay, datagram(t, 0, uint16(i), 5000, number(i)))
			if at > silent {
				w.send(1, at+time.Millisecond, delay, datagram(t, 1, uint16(i), 5000, number(-i)))
			}
		}
		x := w.open(w.encode(t.TempDir()))
		w.run(x, 0, silent, nil)
		if n := len(x.x.ends); n > 0 {
			t.Fatalf("%d messages before anything tells who sent them: the test tries nothing", n)
		}
		w.run(x, silent, 2*silent+3*time.Second, nil)
		w.same("while it grows", messagesOf(t, x.Session, x.x), w.sent)
		w.same("at the end", w.finish(x), w.sent)
		w.same("offline", w.offline(), w.sent)
		if lines := x.w.Lines(); len(lines) > 0 {
			t.Errorf("warnings %q", lines)
		}
	}
}

// TestMessagesOverManyWindowsAreThoseOfOffline follows for much longer than the matcher sees, with hosts that are read at other paces.
func TestMessagesOverManyWindowsAreThoseOfOffline(t *testing.T) {
	t.Parallel()
	for _, lag := range []time.Duration{0, 4 * time.Second, 7 * time.Second} {
		for late := range 2 {
			w := &wire{t: t, step: 100 * time.Millisecond}
			w.hosts[late].lag = lag
			seq := [2]uint32{1000, 5000}
			for i := range 900 { // 45 s
				at := time.Duration(i) * 50 * time.Millisecond
				from := i & 1
				w.send(from, at, 150*time.Microsecond, segment(t, from, seq[from], seq[1-from]))
				seq[from] += 100
				w.send(from, at+7*time.Millisecond, time.Duration(100+i%50)*time.Microsecond, datagram(t, from, uint16(i), 5000, number(i)))
			}
			x := w.open(w.encode(t.TempDir()))
			w.run(x, 0, 45*time.Second+lag+3*time.Second, nil)
			w.same(lag.String()+" while it grows", messagesOf(t, x.Session, x.x), w.sent)
			w.same(lag.String()+" at the end", w.finish(x), w.sent)
			if lines := x.w.Lines(); len(lines) > 0 {
				t.Errorf("warnings %q", lines)
			}
		}
	}
}

// TestCopyOfAPacketFromBeforeTheWindowIsNoMessage sends datagrams of one content at long intervals. One that was received within the window,
// and sent before, with the sending of the next would be a message that was received before it was sent.
func TestCopyOfAPacketFromBeforeTheWindowIsNoMessage(t *testing.T) {
	t.Parallel()
	for _, lag := range []time.Duration{0, 4 * time.Second, 7 * time.Second} {
		for late := range 2 {
			w := &wire{t: t, step: 100 * time.Millisecond}
			w.hosts[late].lag = lag
			all := 0
			for i := range 900 {
				at := time.Duration(i) * 50 * time.Millisecond
				from := i & 1
				w.send(from, at, 150*time.Microsecond, datagram(t, from, uint16(i), 5000, number(i)))
				all++
				if i%100 == 51 {
					w.send(late, at+3*time.Millisecond, 150*time.Microsecond, datagram(t, late, 0, 6000, []byte("still here")))
				}
			}
			x := w.open(w.encode(t.TempDir()))
			w.run(x, 0, 45*time.Second+lag+3*time.Second, nil)
			got := w.finish(x)
			known := make(map[carried]bool)
			for _, m := range w.sent {
				known[m] = true
			}
			wrong := slices.DeleteFunc(slices.Clone(got), func(m carried) bool { return known[m] })
			if lines := x.w.Lines(); len(lines) > 0 && lag != 0 { // at once the first one comes alone, and may be used until the second
				t.Errorf("lag %v: warnings %q", lag, lines)
			}
			if len(wrong) > 0 || len(got) < all {
				t.Errorf("lag %v of host %d: %d of %d messages are wrong, %d were sent; the first: %+v", lag, late, len(wrong), len(got), len(w.sent), wrong[:min(1, len(wrong))])
			}
		}
	}
}

// TestDirectoriesThatAreReadAtOnceAreReadAbreast gives a session a minute at once, of which one host has many times the packets of the
// other.
func TestDirectoriesThatAreReadAtOnceAreReadAbreast(t *testing.T) {
	t.Parallel()
	for busy := range 2 {
		w := &wire{t: t}
		for i := range 60_000 {
			at := time.Duration(i) * time.Millisecond
			if i%20 == 0 {
				from := i / 20 & 1
				w.send(from, at, 150*time.Microsecond, datagram(t, from, uint16(i), 5000, number(i)))
			}
			w.send(busy, at+500*time.Microsecond, 0, datagram(t, busy, uint16(i), 7000, number(-i)), 1-busy)
		}
		x := w.open(w.encode(t.TempDir()))
		x.cost = 8 * time.Second // as of many more packets
		for i := range w.hosts {
			w.grow(i, time.Hour)
		}
		w.steps(x)
		w.same("busy "+[]string{"a", "b"}[busy], w.finish(x), w.sent)
	}
}
