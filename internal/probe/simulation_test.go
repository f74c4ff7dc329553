package probe

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meridian/clock"
	"meridian/internal/testseed"
)

var (
	schedules = flag.Int("schedules", 300, "schedules of TestNoScheduleBreaksWhatProbesPromise")
	firstSeed = flag.Uint64("seed", testseed.First(1), "of its first schedule")
)

// simulatedClock is the clocks of a machine in virtual time. REALTIME may be set; the free clock is what the others are judged by.
type simulatedClock struct{ set *atomic.Int64 }

func (c simulatedClock) Read() Reading {
	now := time.Now().UnixNano()
	return Reading{Free: hostTime(now), Wall: hostTime(now + c.set.Load()), Monotonic: now, Error: 20}
}

func (c simulatedClock) Stamp(realtime int64) int64 { return realtime }
func (c simulatedClock) Steering() uint8            { return 0 }

// probing is a client and a server in a simulated network.
type probing struct {
	t          *testing.T
	seed       uint64
	r          *rand.Rand
	net        *simulatedNetwork
	set        atomic.Int64 // by how much REALTIME of the machine was set
	base       simulatedClock
	warped     *Warped
	warp       func(clock.HostTime) clock.HostTime
	key        Key
	server     func() // ends it
	client     func()
	asked      *Client
	clients    uint64
	last       atomic.Int64 // instant of the latest sample
	samples    int
	late       int
	seen       map[[3]uint64]bool
	answered   map[[2]uint64]bool // questions, by session and number
	mu         sync.Mutex
	violations []string
}

var (
	serverAt = netip.MustParseAddrPort("10.0.0.2:123")
	clientAt = netip.MustParseAddrPort("10.0.0.1:40000")
	otherAt  = netip.MustParseAddrPort("10.0.0.3:666")
)

func (p *probing) violated(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.violations) < 5 {
		p.violations = append(p.violations, fmt.Sprintf(format, args...))
	}
}

// startServer starts a server that knows nothing of one before.
func (p *probing) startServer() {
	s := newServer(Options{Key: p.key, Clock: p.warped, Record: func(e Event) {
		if !e.Send {
			return
		}
		k := [2]uint64{uint64(e.Session), e.Number}
		if p.answered[k] {
			p.violated("question %d of session %x is answered twice", e.Number, e.Session)
		}
		p.answered[k] = true
	}}, p.net.open(serverAt))
	if p.net.plant == takesReplays {
		s.socket.port.(*simulatedPort).forget = func() {
			for _, n := range s.sessions {
				n.window = window{}
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := s.Serve(ctx); err != nil {
			p.violated("the server ended: %v", err)
		}
	}()
	p.server = func() { cancel(); <-over }
}

func (p *probing) startClient() {
	c := newClient(Options{Key: p.key, Clock: p.base, Rate: 16, Single: true, Burst: -1})
	c.add(serverAt, 0)
	p.clients++
	c.hosts[0].pace.jitter = rand.New(rand.NewPCG(p.seed, 100+p.clients)).Int64N // the client's goroutine has its own
	c.socket = p.net.open(clientAt)
	if p.net.plant == takesDoubles {
		c.socket.port.(*simulatedPort).forget = func() {
			for i := range c.hosts[0].pending {
				c.hosts[0].pending[i].answered = false
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	p.seen = make(map[[3]uint64]bool)
	p.asked = c
	go func() {
		defer close(over)
		if err := c.Run(ctx, p.sample); err != nil {
			p.violated("the client ended: %v", err)
		}
	}()
	p.client = func() {
		cancel()
		<-over
		if s := c.Stats(); s.Lost+s.Exchanges > s.Sent {
			p.violated("%d lost and %d answered of %d sent", s.Lost, s.Exchanges, s.Sent)
		}
	}
}

// sample judges a sample by the truth.
func (p *probing) sample(x Sample) {
	p.last.Store(time.Now().UnixNano())
	p.samples++
	late := uint64(0)
	if x.Late {
		late = 1
		p.late++
	}
	k := [3]uint64{uint64(x.Session), x.Number, late}
	if p.seen[k] {
		p.violated("sample %d of session %x comes twice, late %v", x.Number, x.Session, x.Late)
	}
	p.seen[k] = true
	ceiling := int64(x.T2.Time-x.T1.Time) + x.T1.Error + x.T2.Error
	floor := int64(x.T3.Time-x.T4.Time) - x.T3.Error - x.T4.Error
	sent, arrived := int64(p.warp(x.T1.Time)-x.T1.Time), int64(p.warp(x.T4.Time)-x.T4.Time)
	if ceiling < sent-2 || floor > arrived+2 {
		p.violated("offset %d at T1 and %d at T4, the exchange says %d to %d: %+v", sent, arrived, floor, ceiling, x)
	}
}

// playProbes plays the schedule of a seed.
func playProbes(t *testing.T, seed uint64, planted plant) (p *probing) {
	synctest.Test(t, func(t *testing.T) {
		p = &probing{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 5)), answered: make(map[[2]uint64]bool)}
		p.base = simulatedClock{&p.set}
		p.net = &simulatedNetwork{r: rand.New(rand.NewPCG(seed, 6)), ports: make(map[netip.AddrPort]*simulatedPort), plant: planted,
			wall: func() int64 { return time.Now().UnixNano() + p.set.Load() }}
		begin := hostTime(time.Now().UnixNano())
		rate, ahead := (p.r.Float64()-0.5)*4e-4, p.r.Int64N(2e9)-1e9
		p.warp = func(x clock.HostTime) clock.HostTime {
			return x + hostTime(ahead) + hostTime(int64(rate*float64(x-begin)))
		}
		p.warped = NewWarped(p.base, p.warp)
		p.key = Key{byte(seed), 1}
		p.startServer()
		p.startClient()
		for range 12 {
			time.Sleep(time.Duration(p.r.Int64N(int64(3 * time.Second))))
			p.fault()
		}
		// All faults are over: a handshake that waits longest begins within 8 s, after a second without answers.
		p.net.mu.Lock()
		p.net.parted, p.net.worse = false, 0
		p.net.mu.Unlock()
		time.Sleep(30 * time.Second)
		if old := time.Duration(time.Now().UnixNano() - p.last.Load()); old > 2*time.Second {
			p.violated("%v after the last fault the latest sample is %v old: %+v", 30*time.Second, old, p.asked.Stats())
		}
		p.client()
		p.server()
		time.Sleep(5 * time.Second) // what is on its way arrives
	})
	return p
}

// fault has one thing happen.
func (p *probing) fault() {
	n := p.net
	switch p.r.IntN(8) {
	case 0:
		n.mu.Lock()
		n.parted = !n.parted
		n.mu.Unlock()
	case 1:
		n.mu.Lock()
		n.worse = []float64{0, 0.02, 0.2, 0.9}[p.r.IntN(4)]
		n.mu.Unlock()
	case 2:
		p.server()
		time.Sleep(time.Duration(p.r.Int64N(int64(4 * time.Second))))
		p.startServer()
	case 3:
		p.client()
		time.Sleep(time.Duration(p.r.Int64N(int64(time.Second))))
		p.startClient()
	case 4, 5:
		n.again(1+p.r.IntN(100), otherAt)
	case 6:
		n.again(1+p.r.IntN(100), netip.AddrPort{})
	case 7: // somebody sets REALTIME, by much or little
		by := int64(1) << p.r.IntN(40)
		if p.r.IntN(2) == 0 {
			by = -by
		}
		p.set.Add(by)
	}
}

func TestNoScheduleBreaksWhatProbesPromise(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = min(n, 20)
	}
	samples, late, datagrams, failed := 0, 0, 0, 0
	for seed := *firstSeed; seed < *firstSeed+uint64(n) && failed < 5; seed++ {
		p := playProbes(t, seed, nonePlanted)
		samples, late, datagrams = samples+p.samples, late+p.late, datagrams+p.net.count
		for _, v := range p.violations {
			t.Errorf("schedule %d: %s\nagain: go test ./internal/probe -run %s -schedules 1 -seed %d", seed, v, t.Name(), seed)
		}
		failed += len(p.violations)
	}
	if samples < 100*n || late == 0 {
		t.Errorf("%d samples, %d late", samples, late)
	}
	t.Logf("%d schedules, %d datagrams, %d samples, %d of them late", n, datagrams, samples, late)
}

func TestTheSameSeedOfProbesGivesTheSameDatagrams(t *testing.T) {
	var first []uint64
	for range 2 {
		var digests []uint64
		for seed := range uint64(20) {
			digests = append(digests, playProbes(t, seed, nonePlanted).net.digest)
		}
		if first != nil && !slices.Equal(first, digests) {
			t.Errorf("%x and then %x", first, digests)
		}
		first = digests
	}
}

func TestPlantedBugsOfProbesAreFound(t *testing.T) {
	const within = 2000
	for name, planted := range map[string]plant{"the stamp of the arrival before": staleStamp, "questions are answered again": takesReplays,
		"answers are taken again": takesDoubles} {
		found := false
		for seed := uint64(1); seed <= within && !found; seed++ {
			if p := playProbes(t, seed, planted); len(p.violations) > 0 {
				t.Logf("%s: found in schedule %d: %s", name, seed, p.violations[0])
				found = true
			}
		}
		if !found {
			t.Errorf("%s: not found in %d schedules", name, within)
		}
	}
}
