package probe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/clock"
)

// serve runs a server until the test ends.
func serve(t testing.TB, address string, o Options) *Server {
	t.Helper()
	s, err := Listen(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask runs a client until each returns false.
func ask(t testing.TB, o Options, each func(*Client, Sample) bool, addresses ...string) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	c, err := Dial(ctx, o, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx, func(s Sample) {
		if !each(c, s) {
			cancel()
		}
	}); err != nil {
		t.Error(err)
	}
	if context.Cause(ctx) != context.Canceled {
		t.Errorf("the client was not done in time: %+v", c.Stats())
	}
	return c
}

// The ends have clocks that differ by seconds, by 44 ppm and by a wave of 0.25 ppm; the server's jumps to another rate and steps.
// The truth must lie within what each exchange says.
func TestStampsOfWarpedClocksEncloseTheTruth(t *testing.T) {
	key := NewKey()
	start := System().Read().Free
	warp := func(x clock.HostTime) clock.HostTime {
		s := float64(x - start)
		y := 3e9 + 44e-6*s + 0.25e-6*60e9/(2*math.Pi)*math.Sin(2*math.Pi*s/60e9)
		if s > 0.2e9 {
			y += 10e-6 * (s - 0.2e9)
		}
		if s > 0.4e9 {
			y += 50_000
		}
		return x + clock.HostTime(y)
	}
	base := System()
	s := serve(t, "127.0.0.1:0", Options{Key: key, Clock: NewWarped(base, warp)})
	n, late := 0, 0
	ask(t, Options{Key: key, Rate: 400, Clock: base}, func(_ *Client, x Sample) bool {
		n++
		if x.Late {
			late++
		}
		for _, k := range []Stamp{x.T1, x.T2, x.T3, x.T4} {
			if k.Kind != Kernel && !(k == x.T3 && !x.Late) && runtime.GOOS == "linux" {
				t.Logf("a stamp of kind %s: %+v", k.Kind, x)
			}
		}
		ceiling := int64(x.T2.Time-x.T1.Time) + x.T1.Error + x.T2.Error
		floor := int64(x.T3.Time-x.T4.Time) - x.T3.Error - x.T4.Error
		if sent, arrived := int64(warp(x.T1.Time)-x.T1.Time), int64(warp(x.T4.Time)-x.T4.Time); ceiling < sent-1 || floor > arrived+1 {
			t.Errorf("offset %d at T1 and %d at T4, the exchange says %d to %d: %+v", sent, arrived, floor, ceiling, x)
		}
		return x.T1.Time < start+0.6e9 || n < 100 || late < 25
	}, s.Addr().String())
}

func TestOneClientAsksManyHostsThroughOneSocket(t *testing.T) {
	key := NewKey()
	var addresses []string
	for i := range 8 {
		address := "127.0.0.1:0"
		if i%2 == 1 {
			address = "[::1]:0"
		}
		addresses = append(addresses, serve(t, address, Options{Key: key}).Addr().String())
	}
	var from [8]int
	sessions := make(map[uint32]bool)
	c := ask(t, Options{Key: key, Rate: 50}, func(_ *Client, s Sample) bool {
		if s.Peer.String() != addresses[s.Host] {
			t.Errorf("host %d is %s, but its sample is of %s", s.Host, addresses[s.Host], s.Peer)
		}
		from[s.Host]++
		sessions[s.Session] = true
		for _, n := range from {
			if n < 20 {
				return true
			}
		}
		return false
	}, addresses...)
	if n := c.Stats().Opened; n < 8 || n < uint64(len(sessions)) { // a host that is kept waiting for a second gets another one
		t.Errorf("samples of %d sessions: %+v", len(sessions), c.Stats())
	}
}

func TestAClientWithAnotherKeyGetsNoAnswer(t *testing.T) {
	s := serve(t, "127.0.0.1:0", Options{Key: NewKey()})
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c, err := Dial(ctx, Options{Key: NewKey()}, s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for ctx.Err() == nil && s.Stats().Dropped[BadMAC] < 2 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := c.Run(ctx, func(Sample) { t.Error("a sample") }); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Sent > 0 || got.Dropped[BadMAC] < 2 || c.Stats().Received > 0 {
		t.Errorf("%+v", got)
	}
}

func TestAClientFindsAServerThatBeganAnew(t *testing.T) {
	key := NewKey()
	first, err := Listen(t.Context(), net.JoinHostPort(ownLoopback(), "0"), Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- first.Serve(ctx) }()
	sessions := map[uint32]bool{}
	ask(t, Options{Key: key, Rate: 500}, func(_ *Client, s Sample) bool {
		if len(sessions) == 0 {
			end()
			if err := <-served; err != nil {
				t.Error(err)
			}
			serve(t, first.Addr().String(), Options{Key: key})
		}
		sessions[s.Session] = true
		return len(sessions) < 2
	}, first.Addr().String())
}

// ownLoopback returns an address of this machine that no other process takes a port of: one that was given up stays free.
func ownLoopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1" // it may be the only one
	}
	pid := os.Getpid() // of 22 bits
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&63, pid>>8&255, pid&255)
}

func TestQuietWindowsHoldProbesBack(t *testing.T) {
	key := NewKey()
	s := serve(t, "127.0.0.1:0", Options{Key: key})
	quiet, asked := false, uint64(0)
	var over atomic.Bool
	ask(t, Options{Key: key, Rate: 1000}, func(c *Client, x Sample) bool {
		switch {
		case !quiet && x.Number >= 20:
			quiet, asked = true, c.Stats().Sent
			c.Quiet(true)
			time.AfterFunc(300*time.Millisecond, func() {
				over.Store(true)
				c.Quiet(false)
			})
		case quiet && c.Stats().Sent > asked: // answers to earlier questions may still come
			if !over.Load() {
				t.Error("asked within the window")
			}
			return false
		}
		return true
	}, s.Addr().String())
}

func TestDailyWindows(t *testing.T) {
	d, err := ParseDaily("14:00-14:10, 23:59:30-00:05")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"13:59:59": false, "14:00:00": true, "14:09:59": true, "14:10:00": false, "23:59:29": false, "23:59:30": true, "00:00:00": true, "00:04:59": true, "00:05:00": false,
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-03-04 "+text, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		if d.At(at) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
	if _, err := ParseDaily("23:00-01:00,14:00-14:00:00"); err == nil || !strings.Contains(err.Error(), `"14:00-14:00:00" begins and ends at the same time`) {
		t.Errorf("an empty window: %v", err)
	}
	for _, bad := range []string{"", "14:00", "14:00-14:00", "25:00-26:00", "14:00-x", "14:00-15:00,"} {
		if _, err := ParseDaily(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestTheRateFallsWhileTheBoundIsNarrowAndRisesAtOnce(t *testing.T) {
	var p pace
	p.init(32, 1, 2)
	now := time.Now()
	narrowed := Feedback{Width: 1500, Least: 1000}
	var last int64
	for range 10 * 120 {
		now = now.Add(100 * time.Millisecond)
		p.feedback(now, narrowed)
		if i := p.interval.Load(); i < last {
			t.Fatalf("the interval fell from %d to %d", last, i)
		} else {
			last = i
		}
	}
	if last != 2e9 {
		t.Errorf("after two minutes of a narrow bound rounds are %d ns apart", last)
	}
	for _, f := range []Feedback{{Width: 1500, Least: 1000, Stepped: true}, {Width: -1, Least: 1000}, {Width: 4001, Least: 1000}} {
		p.interval.Store(2e9)
		if p.feedback(now, f); p.interval.Load() != 62_500_000 {
			t.Errorf("%+v: rounds are %d ns apart", f, p.interval.Load())
		}
	}
	p.feedback(now.Add(settleTime-1), narrowed)
	if p.interval.Load() != 62_500_000 {
		t.Error("the rate fell before the bound was narrow for long")
	}
}

// Both ends together: an exchange allocates nothing. Each round ends a wait by a deadline, of which package net allocates the error.
func TestExchangesAllocateNothing(t *testing.T) {
	key := NewKey()
	events := 0
	s := serve(t, "127.0.0.1:0", Options{Key: key, Record: func(Event) { events++ }})
	var before, after runtime.MemStats
	const from, to = 100, 500
	sent, session := 0, uint32(0)
	ask(t, Options{Key: key, Rate: 1000, Record: func(Event) { sent++ }}, func(c *Client, x Sample) bool {
		if x.Late {
			return true
		}
		c.Feedback(0, Feedback{Width: 10_000, Least: 1000})
		switch {
		case x.Number >= from && session != x.Session: // a host that is kept waiting for a second gets another session
			session = x.Session
			runtime.ReadMemStats(&before)
		case x.Number >= to:
			runtime.ReadMemStats(&after)
			return false
		}
		return true
	}, s.Addr().String())
	if n := after.Mallocs - before.Mallocs; n > (to-from)/2+50 { // rounds of two, and the runtime's own
		t.Errorf("%d allocations in %d exchanges", n, to-from)
	}
	if sent < 2*(to-from) {
		t.Errorf("%d events", sent)
	}
}

// A stamp of the kernel is led to the free clock only where REALTIME was not set between the readings around it.
func TestStampsAreNotLedAcrossAStepOfREALTIME(t *testing.T) {
	c := &scripted{}
	h := newHistory(c)
	at := func(free, wall int64) {
		c.now = Reading{Free: clock.HostTime(free), Wall: clock.HostTime(wall), Monotonic: free, Error: 50}
		h.read()
	}
	const step = 7_000_000
	at(1e9, 1e18)
	at(2e9, 1e18+1e9)
	at(3e9, 1e18+2e9+step)
	at(3.1e9, 1e18+2.1e9+step)
	for _, x := range []struct {
		wall int64
		want int64 // 0: none
	}{
		{1e18 + 5e8, 1.5e9}, {1e18 + 1e9 + 5e8, 0}, {1e18 + 2e9 + step + 1e7, 3.01e9}, {1e18 + 3e9, 0}, {1e18 - 5e8, 0}, {0, 0},
	} {
		s, ok := h.stamp(x.wall)
		if ok != (x.want != 0) || ok && (int64(s.Time) < x.want-s.Error || int64(s.Time) > x.want+s.Error || s.Monotonic != x.want) {
			t.Errorf("%d is led to %+v, %t, want %d", x.wall, s, ok, x.want)
		}
	}
	at(3.2e9, 1e18) // set back
	if s, ok := h.stamp(1e18 + 5e8); ok {
		t.Errorf("a stamp of before or after is led to %+v", s)
	}
}

// scripted is a clock of a test.
type scripted struct{ now Reading }

func (s *scripted) Read() Reading          { return s.now }
func (s *scripted) Steering() uint8        { return 0 }
func (s *scripted) Stamp(wall int64) int64 { return wall }

// Between readings REALTIME runs fast by up to 500 ppm, as the kernel may have it, and goes back to the free clock's rate: a stamp
// stays within its error.
func TestSlewedStampsStayWithinTheirErrors(t *testing.T) {
	for _, ppm := range []float64{-500, -100, 0, 1, 100, 500} {
		before := Reading{Free: 1e9, Wall: 1e18, Monotonic: 1e9, Error: 40}
		offset := func(free float64) int64 {
			return int64(free-1e9) + int64(math.Round(max(0, min(free-1e9, 0.4e8))*ppm*1e-6))
		}
		after := Reading{Free: 1.1e9, Wall: clock.HostTime(1e18 + offset(1.1e9)), Monotonic: 1e9 + offset(1.1e9), Error: 40}
		for free := 1.0e9; free <= 1.1e9; free += 1.7e6 {
			s, ok := carry(1e18+offset(free), before, after)
			if !ok || math.Abs(float64(s.Time)-free) > float64(s.Error) {
				t.Errorf("%g ppm: a stamp at %.0f is led to %+v, %t", ppm, free, s, ok)
			}
		}
	}
}

func TestRoundsAskAllHostsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, same := NewKey(), simulatedClock{new(atomic.Int64)}
		n := &simulatedNetwork{r: rand.New(rand.NewPCG(1, 6)), ports: make(map[netip.AddrPort]*simulatedPort), wall: func() int64 { return time.Now().UnixNano() }}
		c := newClient(Options{Key: key, Clock: same, Rate: 40, Together: true, Single: true, Burst: -1})
		c.socket = n.open(clientAt)
		ctx, cancel := context.WithCancel(t.Context())
		var running errgroup.Group
		for i := range 4 {
			at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 123)
			s := newServer(Options{Key: key, Clock: same}, n.open(at))
			running.Go(func() error { return s.Serve(ctx) })
			c.add(at, i)
		}
		begin := hostTime(time.Now().UnixNano())
		asked := make(map[clock.HostTime]int) // hosts, by the instant
		running.Go(func() error {
			return c.Run(ctx, func(s Sample) {
				if at := s.T1.Time - begin; !s.Late && at > 2e9 && at < 4e9 { // all have sessions, and all answers come
					asked[s.T1.Time]++
				}
			})
		})
		time.Sleep(5 * time.Second)
		cancel()
		if err := running.Wait(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second) // what is on its way arrives
		for at, hosts := range asked {
			if hosts != 4 {
				t.Errorf("%d of 4 hosts were asked at %d", hosts, at)
			}
		}
		if len(asked) < 70 { // 25 ms apart, and up to a sixteenth more
			t.Errorf("%d rounds in 2 s", len(asked))
		}
	})
}

// Each datagram gives one event at either end, with one tag; it arrives after it was sent, by the one clock that both ends have.
func TestEventsOfBothEndsPairUp(t *testing.T) {
	key, base := NewKey(), System()
	type end struct {
		flow uint64
		send bool
	}
	var atServer, atClient []Event
	record := func(to *[]Event) func(Event) { return func(e Event) { *to = append(*to, e) } }
	ctx, cancel := context.WithCancel(context.Background())
	s, err := Listen(ctx, "127.0.0.1:0", Options{Key: key, Clock: base, Record: record(&atServer)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	c := ask(t, Options{Key: key, Clock: base, Rate: 500, Record: record(&atClient)}, func(_ *Client, x Sample) bool { return x.Number < 100 }, s.Addr().String())
	cancel()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	all := map[end]Event{}
	for i, events := range [][]Event{atClient, atServer} {
		for _, e := range events {
			if _, ok := all[end{e.Flow, e.Send}]; ok || e.Send != (e.Answer == (i == 1)) {
				t.Errorf("end %d: %+v comes twice or is of the other end", i, e)
			}
			all[end{e.Flow, e.Send}] = e
		}
	}
	pairs := uint64(0)
	for k, r := range all {
		if k.send {
			continue
		}
		sent, ok := all[end{k.flow, true}]
		if !ok {
			t.Errorf("%+v was received and not sent", r)
			continue
		}
		pairs++
		if r.Number != sent.Number || r.Answer != sent.Answer || r.Session != sent.Session || r.Stamp.Time+hostTime(r.Stamp.Error) < sent.Stamp.Time-hostTime(sent.Stamp.Error) {
			t.Errorf("sent %+v, received %+v", sent, r)
		}
		// On MONOTONIC, whose distance from the free clock stays while nobody steers it by much.
		if d, m := int64(r.Stamp.Time-sent.Stamp.Time), r.Stamp.Monotonic-sent.Stamp.Monotonic; max(d-m, m-d) > 5000+r.Stamp.Error+sent.Stamp.Error {
			t.Errorf("%d ns on the free clock are %d on MONOTONIC", d, m)
		}
	}
	if n := c.Stats().Exchanges; n == 0 || pairs < 2*n {
		t.Errorf("%d pairs of %d events, of %d exchanges", pairs, len(all), n)
	}
}

func TestAServerOfAllAddressesAnswersFromTheOneThatWasAsked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("127.0.0.2 is an address of this machine on Linux only")
	}
	key := NewKey()
	for _, test := range []struct {
		listen string
		asked  []string
	}{
		{":0", []string{"127.0.0.1", "127.0.0.2", "::1"}}, {"0.0.0.0:0", []string{"127.0.0.3"}}, {"127.0.0.4:0", []string{"127.0.0.4"}},
	} {
		s := serve(t, test.listen, Options{Key: key})
		for _, host := range test.asked {
			at := net.JoinHostPort(host, strconv.Itoa(int(s.Addr().Port())))
			n := 0
			ask(t, Options{Key: key, Rate: 100}, func(*Client, Sample) bool { n++; return n < 3 }, at)
		}
	}
}

func TestZonesOfAddressesAreNamesOfInterfaces(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the first interface is lo on Linux only")
	}
	for address, want := range map[string]string{
		"[fe80::1%lo]:5": "[fe80::1%lo]:5", "[fe80::1%1]:5": "[fe80::1%lo]:5", "[::1]:5": "[::1]:5", "127.0.0.1:5": "127.0.0.1:5",
	} {
		if got, err := resolve(t.Context(), address); err != nil || got.String() != want {
			t.Errorf("%s is %v, %v", address, got, err)
		}
	}
}
