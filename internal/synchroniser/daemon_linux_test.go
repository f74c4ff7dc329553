package synchroniser

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// stage is hosts whose states a test sets.
type stage struct {
	states []State
	quiet  bool
	asked  time.Duration
	since  time.Time
}

func (s *stage) Hosts() int { return len(s.states) }
func (s *stage) At(i int) State {
	if i == 0 {
		s.states[0].Exchanges++
	}
	return s.states[i]
}
func (s *stage) Quiet(on bool) {
	if on && !s.quiet {
		s.asked += time.Since(s.since)
	}
	s.quiet, s.since = on, time.Now()
}

// around is a state whose offset lies within 1 us of a value.
func around(offset time.Duration) State {
	o := int64(offset)
	return State{Estimated: true, Answered: 1, System: Reading{o, o - 1000, o + 1000, true}}
}

func TestDaemonSleepsLongerWhileAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{states: []State{around(0)}, quiet: true}
		var sleeps []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		d := &Daemon{Threshold: 100 * time.Microsecond, Round: 2 * time.Second, Least: time.Second, Most: 8 * time.Second,
			Report: func(hosts []Verdict, _ string, sleep time.Duration) error {
				switch sleeps = append(sleeps, sleep); len(sleeps) {
				case 4:
					s.states[0].System = around(99500 * time.Nanosecond).System // its bound reaches over the threshold
				case 5:
					if !hosts[0].Beyond {
						t.Error("a bound over the threshold is within it")
					}
					s.states[0].System = around(-98 * time.Microsecond).System
				case 7:
					s.states[0].Steps++
				case 8:
					if hosts[0].Stepped != 1 {
						t.Error("a step was not told")
					}
					s.states[0].System.Bounded = false
				case 9:
					cancel()
				}
				return nil
			}}
		if err := d.Run(ctx, s); err != nil {
			t.Fatal(err)
		}
		second := time.Second
		if want := []time.Duration{2 * second, 4 * second, 8 * second, 8 * second, second, 2 * second, 4 * second, second, second}; !slices.Equal(sleeps, want) {
			t.Errorf("it slept %v, not %v", sleeps, want)
		}
		if s.asked != 18*time.Second {
			t.Errorf("it asked for %v in 9 rounds of 2 s", s.asked)
		}
	})
}

func TestDaemonTellsOfHostsThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{states: []State{around(0), around(0)}, quiet: true}
		ctx, cancel := context.WithCancel(t.Context())
		d := &Daemon{Round: time.Second, Least: time.Second, Most: time.Hour, Report: func(hosts []Verdict, _ string, sleep time.Duration) error {
			if hosts[0].Unheard || !hosts[1].Unheard || sleep != time.Second {
				t.Errorf("%v, %v, sleeps %v", hosts[0].Unheard, hosts[1].Unheard, sleep)
			}
			cancel()
			return nil
		}}
		if err := d.Run(ctx, s); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDaemonEndsSlewsInTimeAndReleasesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeClock{offset: 160e3}
		discipline, err := NewDiscipline(c, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{states: []State{around(-160 * time.Microsecond)}, quiet: true}
		ctx, cancel := context.WithCancel(t.Context())
		rounds := 0
		d := &Daemon{Discipline: discipline, Round: time.Second, Least: time.Minute, Most: time.Hour, Report: func(_ []Verdict, did string, _ time.Duration) error {
			switch rounds++; rounds {
			case 1:
				if c.set != -10 || did == "" {
					t.Errorf("160 µs in 16 s are 10 ppm, not %g (%s)", c.set, did)
				}
				s.states[0] = around(0)
			case 2:
				cancel()
			}
			return nil
		}}
		began := time.Now()
		if err := d.Run(ctx, s); err != nil || discipline.slew != 0 || c.set != 0 {
			t.Errorf("%v, left with a slew of %g ppm, at %g ppm", err, discipline.slew, c.set)
		}
		// It slews from the end of the first round, at 1 s, to 17 s, and looks once a second.
		if len(c.at) < 2 || c.at[0].Sub(began) != time.Second || c.at[1].Sub(began) < 17*time.Second || c.at[1].Sub(began) > 19*time.Second {
			t.Errorf("the frequency was set at %v, from %v on", c.at, began)
		}
	})
}
