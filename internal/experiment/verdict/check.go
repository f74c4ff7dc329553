//go:build unix

package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/schedule"
	"meridian/internal/filter"
)

// check answers a check.
func (r *Report) check(c *file.Check, pairs map[string]*filter.Result) CheckResult {
	out := CheckResult{Name: c.Name, Kind: c.Kind, Answer: Undecided}
	if r.Run.Cause != nil {
		out.Reason = "the run failed"
		return out
	}
	switch c.Kind {
	case "pair":
		r.pair(c, &out, pairs[pairName(len(r.Checks))])
	case "inversions":
		r.inversions(c, &out)
	case "lost":
		r.lost(c, &out)
	case "exit":
		r.exit(c, &out)
	case "equal":
		r.equal(c, &out)
	case "result":
		r.result(c, &out)
	case "clock":
		r.clock(c, &out)
	}
	return out
}

// unsure is why nothing can be said of a timeline; "" if something can.
func (r *Report) unsure() string {
	switch {
	case r.Timeline == nil:
		return "no host recorded: add a daemon with use: record"
	case r.Timeline.Quality == nil:
		return "there is no timeline"
	}
	return ""
}

func (r *Report) pair(c *file.Check, out *CheckResult, p *filter.Result) {
	if why := r.unsure(); why != "" {
		out.Reason = why
		return
	}
	if p == nil {
		out.Reason = "the events were not measured"
		return
	}
	named := *p
	named.Name = c.Pair.Name
	out.Pair = &named
	certain := p.BelowMin + p.AboveMax - p.Undecided
	unpaired := p.NoBegin + p.NoEnd + p.NoKey
	switch {
	case certain > 0:
		out.Answer, out.Reason = No, fmt.Sprintf("%d of %d beyond the threshold, whatever the bounds allow: %s", certain, p.Count, caseText(p.Beyond))
		out.Host = p.Beyond.To
	case p.Count == 0:
		out.Answer, out.Reason = No, fmt.Sprintf("no pair of %s and %s was found", c.Pair.Begin, c.Pair.End)
	case unpaired > c.Unpaired:
		out.Answer, out.Reason = No, fmt.Sprintf("%d begins without an end, %d ends without a begin, %d events without the key; permitted: %d", p.NoEnd, p.NoBegin, p.NoKey, c.Unpaired)
	case p.Undecided+p.WithinOpen > 0:
		out.Reason = fmt.Sprintf("%d of %d are nearer to the threshold than the clocks' bounds: %s", p.Undecided+p.WithinOpen, p.Count, caseText(p.Beyond))
		out.Host = p.Beyond.To
	case r.lostEvents() != "":
		out.Host, out.Reason = r.Timeline.Lost[0].Host, fmt.Sprintf("%s: a pair that breaks the threshold may be among them; none of %d does", r.lostEvents(), p.Count)
	default:
		out.Answer, out.Reason = Yes, fmt.Sprintf("%d pairs; median %v, p99 %v, longest %s", p.Count, time.Duration(p.MedianNs), time.Duration(p.P99Ns), caseText(p.Longest))
	}
}

// caseText describes a pair: how long, how sure, from where to where.
func caseText(x *filter.Case) string {
	if x == nil {
		return ""
	}
	text := time.Duration(x.DurationNs).String()
	switch {
	case !x.Bounded:
		text += " (unbounded)"
	case x.LowNs != x.HighNs:
		text += fmt.Sprintf(" (between %v and %v)", time.Duration(x.LowNs), time.Duration(x.HighNs))
	}
	text += " from " + x.From + " to " + x.To
	if x.Key != "" {
		text += ", key " + x.Key
	}
	return text
}

func (r *Report) inversions(c *file.Check, out *CheckResult) {
	if why := r.unsure(); why != "" {
		out.Reason = why
		return
	}
	q := r.Timeline.Quality
	switch {
	case q.Contradicting > c.Count:
		out.Answer, out.Reason = No, fmt.Sprintf("%d of %d messages were received before they were sent, whatever the bounds allow", q.Contradicting, q.Messages)
	case q.Messages == 0:
		out.Reason = "no message between hosts was recorded"
	case q.InversionsBeyondGranularity > c.Count:
		out.Reason = fmt.Sprintf("%d of %d messages appear received before they were sent, within the bounds", q.InversionsBeyondGranularity, q.Messages)
	case r.lostEvents() != "":
		out.Host, out.Reason = r.Timeline.Lost[0].Host, r.lostEvents()+": messages received before they were sent may be among them"
	default:
		out.Answer, out.Reason = Yes, fmt.Sprintf("%d of %d messages", q.InversionsBeyondGranularity, q.Messages)
	}
}

// lost adds up what phases say of what they lost: those of the recorder have the field "lost".
func (r *Report) lost(c *file.Check, out *CheckResult) {
	var total int64
	told := false
	for _, call := range r.calls() {
		var result struct {
			Lost *int64 `json:"lost"`
		}
		if json.Unmarshal(call.Result, &result) == nil && result.Lost != nil {
			told = true
			if total += *result.Lost; *result.Lost > 0 && out.Host == "" {
				out.Host = call.Host
			}
		}
	}
	switch {
	case !told:
		out.Reason = "no recorder said what it lost: add a daemon with use: record, and its phase stop"
	case total > c.Count:
		out.Answer, out.Reason = No, fmt.Sprintf("%d events were lost, permitted: %d", total, c.Count)
	default:
		out.Answer, out.Reason = Yes, fmt.Sprintf("%d events were lost", total)
	}
}

func (r *Report) calls() (all []*schedule.Call) {
	for _, b := range r.Run.Blocks {
		all = append(all, b.Calls...)
	}
	return all
}

func (r *Report) exit(c *file.Check, out *CheckResult) {
	n := 0
	judge := func(host string, code int) {
		n++
		if code != c.Code && out.Answer != No {
			out.Answer, out.Host, out.Reason = No, host, fmt.Sprintf("exit code %d on %s, want %d", code, host, c.Code)
		}
	}
	ended := make(map[string]bool)
	for _, call := range r.calls() {
		if call.Daemon == c.Daemon && call.Code != nil && (c.Host == "" || call.Host == c.Host) {
			ended[call.Host] = true
			judge(call.Host, *call.Code)
		}
	}
	for _, h := range r.Run.Hosts { // daemons that live to the end
		if code, ok := h.Codes[c.Daemon]; ok && !ended[h.Name] && (c.Host == "" || h.Name == c.Host) {
			judge(h.Name, code)
		}
	}
	switch {
	case out.Answer == No:
	case n == 0:
		out.Reason = "no process of it ended"
	default:
		out.Answer, out.Reason = Yes, fmt.Sprintf("exit code %d of %d processes", c.Code, n)
	}
}

// same reports whether two files have the same bytes, and how many.
func same(a, b string) (equal bool, bytesRead int64, err error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, 0, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, 0, err
	}
	defer fb.Close()
	const part = 1 << 16
	ba, bb := make([]byte, part), make([]byte, part)
	for {
		na, errA := io.ReadFull(fa, ba)
		nb, errB := io.ReadFull(fb, bb)
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return false, bytesRead, err
			}
		}
		if !bytes.Equal(ba[:na], bb[:nb]) {
			for i := range min(na, nb) {
				if ba[i] != bb[i] {
					return false, bytesRead + int64(i), nil
				}
			}
			return false, bytesRead + int64(min(na, nb)), nil
		}
		if bytesRead += int64(na); na < part {
			return true, bytesRead, nil
		}
	}
}

func (r *Report) equal(c *file.Check, out *CheckResult) {
	path := func(g file.Gathered) string {
		return filepath.Join(r.Directory, "hosts", g.Host, "files", g.Daemon, filepath.FromSlash(g.Path))
	}
	equal, n, err := same(path(c.Equal[0]), path(c.Equal[1]))
	switch {
	case err != nil:
		out.Answer, out.Reason = No, err.Error()
	case !equal:
		out.Answer, out.Host, out.Reason = No, c.Equal[1].Host, fmt.Sprintf("%v and %v differ at byte %d", c.Equal[0], c.Equal[1], n)
	default:
		out.Answer, out.Reason = Yes, fmt.Sprintf("%d bytes", n)
	}
}

func (r *Report) result(c *file.Check, out *CheckResult) {
	n := 0
	for _, call := range r.calls() {
		if call.Daemon != c.Daemon || call.Phase != c.Phase || c.Host != "" && call.Host != c.Host {
			continue
		}
		v, err := number(call.Result, c.Field)
		switch {
		case err != nil:
			out.Answer, out.Host, out.Reason = No, call.Host, fmt.Sprintf("%s.%s on %s: %v", call.Daemon, call.Phase, call.Host, err)
			return
		case c.Min != nil && v < *c.Min:
			out.Answer, out.Host, out.Reason = No, call.Host, fmt.Sprintf("%s is %v on %s, at least %v wanted", c.Field, v, call.Host, *c.Min)
			return
		case c.Max != nil && v > *c.Max:
			out.Answer, out.Host, out.Reason = No, call.Host, fmt.Sprintf("%s is %v on %s, at most %v wanted", c.Field, v, call.Host, *c.Max)
			return
		}
		n++
		out.Reason = fmt.Sprintf("%s is %v on %s", c.Field, v, call.Host)
	}
	if n == 0 {
		out.Reason = "the phase did not run"
		return
	}
	out.Answer = Yes
}

// number returns a number in a result, by the names of fields on the way to it.
func number(result json.RawMessage, field string) (float64, error) {
	var v any
	if len(result) == 0 {
		return 0, errors.New("the phase gave no result")
	}
	if err := json.Unmarshal(result, &v); err != nil {
		return 0, err
	}
	for name := range strings.SplitSeq(field, ".") {
		m, ok := v.(map[string]any)
		if !ok || m[name] == nil {
			return 0, fmt.Errorf("the result has no field %s", field)
		}
		v = m[name]
	}
	f, ok := v.(float64)
	if !ok {
		return 0, fmt.Errorf("%s is no number", field)
	}
	return f, nil
}
