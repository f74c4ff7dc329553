package synchroniser

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// SystemClock is the clock that is steered. [NewSystemClock] returns the machine's; tests have another.
type SystemClock interface {
	// Frequency returns by how much the clock is made to run faster than its oscillator, ppm, and whether the kernel says that a
	// program keeps it synchronised.
	Frequency() (ppm float64, synchronised bool, err error)
	// SetFrequency makes it run faster by so much.
	SetFrequency(ppm float64) error
	// Step sets it forward by so much at once.
	Step(by time.Duration) error
	// Daemons returns the names of running programs that steer it.
	Daemons() ([]string, error)
}

// Limits say what discipline may do to a clock. Zero values are the defaults.
type Limits struct {
	MaxSlew float64       // ppm beside the oscillator's own error, default 100
	MaxFreq float64       // ppm in all, default 500, which is also the kernel's
	Step    time.Duration // offsets beyond this are stepped; 0: never
	Panic   time.Duration // offsets beyond this are refused, default 1000 s
}

const (
	defaultMaxSlew = 100
	kernelMaxFreq  = 500
	defaultPanic   = 1000 * time.Second
	// slewTime is in what time a slew is to take an offset away: longer than the rounds, so that it cannot overshoot.
	slewTime = 16 * time.Second
	// frequencyShare is by how much of the skew that is left each correction changes the clock's frequency.
	frequencyShare = 0.3
)

// Discipline steers a system clock after a host's. It changes nothing until the first Steer.
type Discipline struct {
	clock    SystemClock
	limits   Limits
	base     float64 // frequency that makes the clock neither gain nor lose, ppm
	slew     float64 // what is added now, ppm
	last     time.Time
	offset   float64   // at last, ns
	until    time.Time // when the slew has done its work
	steering bool
}

// NewDiscipline refuses a clock that another program steers.
func NewDiscipline(c SystemClock, l Limits) (*Discipline, error) {
	if l.MaxSlew <= 0 {
		l.MaxSlew = defaultMaxSlew
	}
	if l.MaxFreq <= 0 || l.MaxFreq > kernelMaxFreq {
		l.MaxFreq = kernelMaxFreq
	}
	if l.Panic <= 0 {
		l.Panic = defaultPanic
	}
	d := &Discipline{clock: c, limits: l}
	base, synchronised, err := c.Frequency()
	if err != nil {
		return nil, fmt.Errorf("discipline: %w", err)
	}
	running, err := c.Daemons()
	switch {
	case err != nil:
		return nil, fmt.Errorf("discipline: %w", err)
	case len(running) > 0:
		return nil, fmt.Errorf("discipline: %s steers the system clock; stop it first, or leave --discipline out", strings.Join(running, ", "))
	case synchronised:
		return nil, errors.New("discipline: the kernel says that a program keeps the system clock synchronised (adjtimex without STA_UNSYNC); " +
			"stop it first, or leave --discipline out")
	}
	d.base = base
	return d, nil
}

// Steer takes the offset (theirs less ours) and its bound, and steers. It says what it did, "" for nothing.
//
// An offset whose bound includes 0 changes only the frequency, by less: noise must not move the clock. An unbounded one changes
// nothing but ends a slew in time.
func (d *Discipline) Steer(now time.Time, r Reading) (did string, err error) {
	if !r.Bounded {
		return "", d.settle(now)
	}
	offset := float64(r.Offset)
	switch magnitude := time.Duration(abs(r.Offset)); {
	case magnitude > d.limits.Panic:
		return "", fmt.Errorf("discipline: the offset of %v is beyond %v: set the clock by hand first", magnitude, d.limits.Panic)
	case d.limits.Step > 0 && magnitude > d.limits.Step && (r.Low > 0 || r.High < 0):
		d.last = time.Time{}
		if err := d.set(0); err != nil {
			return "", err
		}
		if err := d.clock.Step(time.Duration(r.Offset)); err != nil {
			return "", fmt.Errorf("discipline: %w", err)
		}
		return fmt.Sprintf("stepped by %v", time.Duration(r.Offset)), nil
	}
	d.learn(now, offset)
	d.last, d.offset = now, offset
	slew := 0.0
	if r.Low > 0 || r.High < 0 {
		slew = offset / float64(slewTime) * 1e6
		slew = min(max(slew, -d.limits.MaxSlew), d.limits.MaxSlew)
		d.until = now.Add(time.Duration(math.Abs(offset / slew * 1e6)))
	}
	if err := d.set(slew); err != nil {
		return "", err
	}
	return fmt.Sprintf("frequency %+.3f ppm, of which %+.3f ppm take the offset away", d.base+d.slew, d.slew), nil
}

// learn corrects the base by the skew that is left: how the offset changed since the last time beyond what the slew has done.
func (d *Discipline) learn(now time.Time, offset float64) {
	if d.last.IsZero() {
		return
	}
	over := now.Sub(d.last)
	if over < time.Second {
		return
	}
	slewed := min(over, max(0, d.until.Sub(d.last)))
	if d.slew == 0 {
		slewed = 0
	}
	left := (offset - d.offset + d.slew*float64(slewed)/1e6) / float64(over) * 1e6
	d.base = d.clamp(d.base + frequencyShare*left)
}

// settle ends a slew that has done its work.
func (d *Discipline) settle(now time.Time) error {
	if d.slew == 0 || now.Before(d.until) {
		return nil
	}
	return d.set(0)
}

func (d *Discipline) set(slew float64) error {
	wanted := d.clamp(d.base + slew)
	if err := d.clock.SetFrequency(wanted); err != nil {
		return fmt.Errorf("discipline: %w", err)
	}
	d.slew, d.steering = wanted-d.base, true
	return nil
}

func (d *Discipline) clamp(ppm float64) float64 {
	return min(max(ppm, -d.limits.MaxFreq), d.limits.MaxFreq)
}

// Release ends a slew that is under way and leaves the clock at the frequency that was learned.
func (d *Discipline) Release() error {
	if !d.steering {
		return nil
	}
	return d.set(0)
}
