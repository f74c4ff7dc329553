package probe

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
)

// scriptedPHC is 37 s ahead of REALTIME and runs fast by a rate; each reading takes a random while.
type scriptedPHC struct {
	wall  int64 // now
	rate  float64
	ahead int64
	fails bool
	rng   *rand.Rand
}

func (p *scriptedPHC) shows(wall int64) int64 {
	return wall + 37e9 + p.ahead + int64(math.Round(float64(wall-1e18)*p.rate))
}

func (p *scriptedPHC) Read() (phc, before, after int64, err error) {
	if p.fails {
		return 0, 0, 0, errors.New("gone")
	}
	before = p.wall
	at := before + p.rng.Int64N(2000)
	p.wall = at + p.rng.Int64N(2000)
	return p.shows(at), before, p.wall, nil
}

func (p *scriptedPHC) Close() error { return nil }

func TestStampsOfInterfacesAreLedBackWithinTheirErrors(t *testing.T) {
	seed := testseed.Seed(t)
	for _, rate := range []float64{0, 3e-5, -1e-4, 9e-4} {
		p := &scriptedPHC{wall: 1e18, rate: rate, rng: rand.New(rand.NewPCG(seed, 1))}
		h := &hardware{phc: p}
		h.read()
		for range 2000 {
			stamped := p.wall + p.rng.Int64N(30_000_000)
			p.wall = stamped + p.rng.Int64N(3_000_000)
			h.read()
			wall, off, ok := h.wall(p.shows(stamped))
			if d := wall - stamped; !ok || d > off || d < -off {
				t.Fatalf("rate %g: a stamp is led back %d ns beside it, said to be within %d, %t", rate, d, off, ok)
			}
			if off > 20_000 {
				t.Fatalf("rate %g: an error of %d ns", rate, off)
			}
		}
	}
}

func TestStampsAreNotLedAcrossAStepOfThePHC(t *testing.T) {
	p := &scriptedPHC{wall: 1e18, rng: rand.New(rand.NewPCG(1, 1))}
	h := &hardware{phc: p}
	if _, _, ok := h.wall(p.shows(p.wall)); ok {
		t.Error("a stamp is led back without readings")
	}
	for range 10 {
		p.wall += 50_000_000
		h.read()
	}
	before := p.shows(p.wall)
	p.ahead += 1e6
	h.read()
	if wall, _, ok := h.wall(before); ok {
		t.Errorf("a stamp of before the step is led to %d", wall)
	}
	if _, _, ok := h.wall(p.shows(p.wall) - maxPHCAge - 1e6); ok {
		t.Error("a stamp far from the reading is led back")
	}
}

// The best stamp there is gets used: the interface's where it agrees with the kernel's, else the kernel's, else that of user space.
func TestTheBestStampIsTaken(t *testing.T) {
	c := &scripted{}
	h := newHistory(c)
	p := &scriptedPHC{wall: 1e18, rng: rand.New(rand.NewPCG(1, 1))}
	h.hardware = &hardware{phc: p}
	at := func(wall int64) {
		c.now = Reading{Free: clock.HostTime(wall - 5e17), Wall: clock.HostTime(wall), Monotonic: wall - 5e17, Error: 50}
		h.read()
	}
	user := Reading{Free: 7}
	for i := range int64(10) {
		at(1e18 + i*50e6)
		p.wall = 1e18 + i*50e6
		h.hardware.read()
	}
	wall := int64(1e18 + 9*50e6)
	at(wall + 1e5)
	p.wall = wall + 1e5
	for _, x := range []struct {
		name          string
		kernel, byPHC int64
		want          Kind
	}{
		{"both", wall - 1000, p.shows(wall - 3000), Hardware},
		{"of another interface's clock", wall - 1000, wall - 3000, Kernel},
		{"of a clock 200 ms off", wall - 1000, p.shows(wall - 200e6), Kernel},
		{"the kernel's alone", wall - 1000, 0, Kernel},
		{"none", 0, 0, User},
	} {
		s := h.best(x.kernel, x.byPHC, user)
		want := clock.HostTime(wall - 1000 - 5e17)
		switch x.want {
		case Hardware:
			want -= 2000
		case User:
			want = user.Free
		}
		if d := int64(s.Time - want); s.Kind != x.want || d > s.Error || d < -s.Error {
			t.Errorf("%s: %+v, want one of %s at %d", x.name, s, x.want, want)
		}
	}
}
