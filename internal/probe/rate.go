package probe

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// pace is how often a host is asked.
//
// It slows down by half whenever the bound was narrow and steady for settleTime, until the least rate, and is at once the greatest
// after a step or when the bound is wide. Nothing changes without feedback.
type pace struct {
	jitter   func(n int64) int64
	interval atomic.Int64 // between two rounds, ns
	least    atomic.Int64
	most     atomic.Int64
	since    time.Time // when the bound became narrow, or the interval changed; of Feedback alone
}

// Feedback is what an estimator says of a host.
type Feedback struct {
	Width   int64 // of the bound, ns; negative if there is none
	Least   int64 // the least round trip, ns
	Stepped bool  // a clock has stepped since the last feedback
}

const (
	settleTime = 5 * time.Second
	narrow     = 2   // least round trips: a bound up to here is narrow
	wide       = 4   // beyond this it is wide
	slowPoll   = 1e9 // ns between rounds from which on they are bursts
)

func (p *pace) init(rate, minRate, each float64) {
	p.least.Store(int64(each / rate * 1e9))
	p.most.Store(int64(each / minRate * 1e9))
	p.interval.Store(p.least.Load())
	if p.jitter == nil {
		p.jitter = rand.Int64N
	}
}

func (p *pace) feedback(now time.Time, f Feedback) {
	least, most := p.least.Load(), p.most.Load()
	switch i := p.interval.Load(); {
	case f.Stepped || f.Width < 0 || f.Width > wide*f.Least:
		p.interval.Store(least)
		p.since = now
	case f.Width > narrow*f.Least:
		p.since = now
	case now.Sub(p.since) >= max(settleTime, time.Duration(4*i)) && i < most:
		if !p.since.IsZero() {
			p.interval.Store(min(2*i, most))
		}
		p.since = now
	}
}

// after returns the time to the next round: the interval and up to a sixteenth, lest clients keep step with each other or with loads.
func (p *pace) after() time.Duration {
	i := p.interval.Load()
	return time.Duration(i + p.jitter(i/16+1))
}

// Feedback adapts the rate at which a host is asked. It is called in the goroutine of Run, from each.
func (c *Client) Feedback(host int, f Feedback) { c.hosts[host].pace.feedback(time.Now(), f) }

// SetRate sets the greatest and the least rate of exchanges with a host, per second. It may be called at any time.
func (c *Client) SetRate(host int, most, least float64) error {
	if !(most > 0) || most > greatestRate || !(least > 0) || least > most {
		return fmt.Errorf("probe: rates of %g to %g per second are not within 0 to %d", least, most, greatestRate)
	}
	c.hosts[host].pace.init(most, least, c.inRound())
	return nil
}

// Rate returns how many exchanges per second a host is asked for now.
func (c *Client) Rate(host int) float64 {
	i := c.hosts[host].pace.interval.Load()
	return float64(c.questions(i)) / float64(i) * 1e9
}

// inRound returns how many questions a round has that is not a burst.
func (c *Client) inRound() float64 {
	if c.options.Single {
		return 1
	}
	return 2
}

// questions returns how many questions a round has, by the interval between rounds.
func (c *Client) questions(interval int64) int {
	if interval >= slowPoll {
		return max(int(c.inRound()), c.options.Burst)
	}
	return int(c.inRound())
}

// Daily is windows of every day, in local time, in which nothing is sent.
type Daily []dailyWindow

type dailyWindow struct{ from, to time.Duration } // since midnight; over midnight where to is less

// ParseDaily reads windows: "14:00-14:10,23:59:30-00:05".
func ParseDaily(text string) (d Daily, err error) {
	for w := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(w), "-")
		var x dailyWindow
		if x.from, err = sinceMidnight(from); err == nil && ok {
			x.to, err = sinceMidnight(to)
		}
		if err == nil && ok && x.from == x.to {
			return nil, fmt.Errorf("quiet window %q begins and ends at the same time; write the times between which nothing is sent", w)
		}
		if err != nil || !ok {
			return nil, fmt.Errorf("invalid quiet window %q; write them as 14:00-14:10,23:59:30-00:05", w)
		}
		d = append(d, x)
	}
	return d, nil
}

func sinceMidnight(text string) (time.Duration, error) {
	t, err := time.Parse("15:04:05", text)
	if err != nil {
		t, err = time.Parse("15:04", text)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, err
}

// At reports whether an instant is within a window.
func (d Daily) At(now time.Time) bool {
	if len(d) == 0 {
		return false
	}
	now = now.Local()
	at := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second
	for _, w := range d {
		if w.from < w.to && at >= w.from && at < w.to || w.from > w.to && (at >= w.from || at < w.to) {
			return true
		}
	}
	return false
}
