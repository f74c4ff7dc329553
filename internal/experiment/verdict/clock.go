//go:build unix

package verdict

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"meridian/internal/experiment/file"
	"meridian/internal/show"
)

const second = 1_000_000_000 // ns, and Hz of the recorder's clock

// metadataName is the file of a CTF trace that describes its clock.
const metadataName = "metadata"

// wrongClocks makes the clocks of hosts wrong as the file says. Stamps of a CTF trace are counts; its description says of which instant and
// rate. A description of another instant and rate makes it the trace of a host whose clock was so: the truth is known to the
// nanosecond.
func (r *Report) wrongClocks(run *file.Run) error {
	for _, h := range run.Hosts {
		if h.Clock == (file.Clock{}) {
			continue
		}
		path := filepath.Join(r.Directory, "hosts", h.Name, "trace", metadataName)
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return fmt.Errorf("host %s: its clock is not made wrong: it has recorded nothing", h.Name)
		} else if err != nil {
			return err
		}
		if b, err = wrongClock(b, h.Clock, r.Run.BeganNs); err != nil {
			return fmt.Errorf("host %s: %s: %w", h.Name, path, err)
		}
		if err := whole(path, b); err != nil {
			return err
		}
	}
	return nil
}

// clockOf finds the description of the clock that our recorder writes (TSDL, CTF 1.8.3, section 8).
var clockOf = regexp.MustCompile(`(?s)(\nclock \{.*?\tfreq = )1000000000(;\s+offset_s = )(-?[0-9]+)(;\s+offset = )(-?[0-9]+)(;)`)

// wrongClock changes the description of a clock. It is true at no instant unless Ahead is 0; at the instant began it is ahead by Ahead.
func wrongClock(metadata []byte, c file.Clock, began int64) ([]byte, error) {
	m := clockOf.FindSubmatch(metadata)
	if m == nil || len(clockOf.FindAllIndex(metadata, -1)) != 1 {
		return nil, fmt.Errorf("want one clock of %d Hz with offsets", second)
	}
	seconds, err := strconv.ParseInt(string(m[3]), 10, 64)
	if err != nil {
		return nil, err
	}
	offset, err := strconv.ParseInt(string(m[5]), 10, 64)
	if err != nil {
		return nil, err
	}
	// A count n is the instant seconds*10^9 + offset + n by the true clock. The wrong one has
	//	S*10^9 + (O + n) * 10^9/F = began + Ahead + (n - n0) * 10^9/F,  n0 = began - seconds*10^9 - offset
	// so with S of about that instant: O = (began + Ahead - S*10^9) * F/10^9 - n0.
	frequency := int64(math.Round(second / (1 + c.Fast*1e-6)))
	n0 := began - seconds*second - offset
	instant := began + int64(c.Ahead)
	whole := instant / second
	rest := new(big.Int).Mul(big.NewInt(instant-whole*second), big.NewInt(frequency))
	o := new(big.Int).Sub(rest.Quo(rest, big.NewInt(second)), big.NewInt(n0))
	// Whole seconds of it belong to S: readers such as babeltrace2 take cycles without a sign alone.
	carried, o := new(big.Int).DivMod(o, big.NewInt(frequency), new(big.Int))
	whole += carried.Int64()
	text := fmt.Sprintf("%s%d%s%d%s%d%s", m[1], frequency, m[2], whole, m[4], o, m[6])
	at := clockOf.FindIndex(metadata)
	return slices.Concat(metadata[:at[0]], []byte(text), metadata[at[1]:]), nil
}

// within returns the corners of a map with both bounds in the time of the run. The map reaches hours beyond, where its bounds go on as at
// their ends and promise nothing. Where none is within, as where the clock of a host is far from the controller's, it returns all.
func (r *Report) within(corners []show.Knot) (during []show.Knot) {
	bounded := slices.DeleteFunc(slices.Clone(corners), func(k show.Knot) bool { return k.LowNs == nil || k.HighNs == nil })
	for _, k := range bounded {
		if at := int64(k.TimelineNs); at >= r.Run.BeganNs && at <= r.Run.EndedNs {
			during = append(during, k)
		}
	}
	if len(during) == 0 {
		return bounded
	}
	return during
}

// clock answers how the clock of a host stands to that of the first host, which the timeline follows. No instant may exclude what is
// expected; yes is said where the bounds are tightest.
func (r *Report) clock(c *file.Check, out *CheckResult) {
	if why := r.unsure(); why != "" {
		out.Reason = why
		return
	}
	first := r.Run.Hosts[0].Name
	var host *show.Host
	for i := range r.aligned {
		if r.aligned[i].Name == c.Host {
			host = &r.aligned[i]
		}
	}
	if host == nil || host.Reference != first {
		out.Reason = fmt.Sprintf("the clock of %s is not aligned with that of %s: no messages between them were recorded", c.Host, first)
		return
	}
	out.Host = c.Host
	best := int64(-1)
	var low, high int64   // of the error against what is expected, at the tightest instant
	excludes := int64(-1) // width at the tightest instant that excludes it
	for _, k := range r.within(host.Map) {
		// The host's stamp stands for some instant between the bounds: the later it is, the less the clock is ahead.
		more := func(at int64) int64 {
			expected := int64(c.Clock.Ahead) + int64(math.Round(c.Clock.Fast*1e-6*float64(at-r.Run.BeganNs)))
			return int64(k.HostNs) - at - expected
		}
		l, h := more(int64(*k.HighNs))-1, more(int64(*k.LowNs))+1
		if width := h - l; best < 0 || width < best {
			best, low, high = width, l, h
		}
		if within := int64(c.Within); (l > within || h < -within) && (excludes < 0 || h-l < excludes) {
			excludes = h - l
			out.Answer, out.Reason = No, fmt.Sprintf("the clock of %s is ahead by %v to %v more than expected, at %s",
				c.Host, time.Duration(l), time.Duration(h), time.Unix(0, int64(k.TimelineNs)).UTC().Format(time.RFC3339Nano))
		}
	}
	switch {
	case excludes >= 0:
	case best < 0:
		out.Reason = "the clock of " + c.Host + " has no bounds"
	case low < -int64(c.Within) || high > int64(c.Within):
		out.Reason = fmt.Sprintf("the bounds allow that the clock of %s is ahead by %v to %v more than expected", c.Host, time.Duration(low), time.Duration(high))
	default:
		out.Answer, out.Reason = Yes, fmt.Sprintf("ahead of %s by %v to %v more than expected", first, time.Duration(low), time.Duration(high))
	}
}
