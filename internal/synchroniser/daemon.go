package synchroniser

import (
	"context"
	"time"
)

// Watched is what a daemon needs of a [Synchroniser].
type Watched interface {
	Hosts() int
	At(host int) State
	Quiet(on bool)
}

// Daemon keeps an eye on clocks and leaves the network alone meanwhile. It asks for Round, sleeps, asks again. While all offsets are within the
// threshold it sleeps twice as long each time, up to Most; else it sleeps Least.
type Daemon struct {
	Threshold   time.Duration // 0: none, all offsets are within it
	Round       time.Duration // for how long it asks
	Least, Most time.Duration // sleeps
	Discipline  *Discipline   // of this host's clock by the first host's; nil: nothing is steered
	// Report is called after each round: what each host's state is and, with the last, for how long the daemon sleeps and what was done to
	// this host's clock, "" for nothing.
	Report func(hosts []Verdict, did string, sleep time.Duration) error
}

// Verdict is how a host came out of a round.
type Verdict struct {
	State
	Beyond  bool   // the offset is beyond the threshold for sure, or may be: its bound is not within
	Unheard bool   // it did not answer in this round
	Stepped uint64 // how many steps were found in this round
}

// settleEvery is how often a daemon that sleeps looks whether a slew has done its work.
const settleEvery = time.Second

// Run runs until the context is done. It is called once.
func (d *Daemon) Run(ctx context.Context, s Watched) (err error) {
	if d.Discipline != nil {
		defer func() {
			if e := d.Discipline.Release(); err == nil {
				err = e
			}
		}()
	}
	before := make([]State, s.Hosts())
	for sleep := d.Least; ; {
		s.Quiet(false)
		if !d.wait(ctx, d.Round) {
			return nil
		}
		s.Quiet(true)
		calm := true
		verdicts := make([]Verdict, s.Hosts())
		for i := range verdicts {
			v := d.judge(s.At(i), before[i])
			before[i], verdicts[i] = v.State, v
			calm = calm && !v.Beyond && !v.Unheard && v.Stepped == 0
		}
		did := ""
		if d.Discipline != nil && !verdicts[0].Unheard {
			if did, err = d.Discipline.Steer(time.Now(), verdicts[0].System); err != nil {
				return err
			}
		}
		if sleep = min(2*sleep, d.Most); !calm {
			sleep = d.Least
		}
		if err := d.Report(verdicts, did, sleep); err != nil {
			return err
		}
		if !d.wait(ctx, sleep) {
			return nil
		}
	}
}

// judge says how a host came out of a round, given its state after the round before.
func (d *Daemon) judge(s, before State) Verdict {
	v := Verdict{State: s, Unheard: s.Exchanges == before.Exchanges, Stepped: s.Steps + s.Set - before.Steps - before.Set}
	reach := int64(d.Threshold)
	v.Beyond = !s.System.Bounded || reach > 0 && (s.System.Low < -reach || s.System.High > reach)
	return v
}

// wait waits, and ends slews in time. It returns false when the context is done.
func (d *Daemon) wait(ctx context.Context, over time.Duration) bool {
	end := time.NewTimer(over)
	defer end.Stop()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end.C:
			return true
		case now := <-tick.C:
			if d.Discipline != nil {
				_ = d.Discipline.settle(now) // a failure comes again with the next Steer
			}
		}
	}
}
