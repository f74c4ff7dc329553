// Package samples reads and writes readings of hosts' clocks against a reference, as text: in goes a file with one
// reading a line, out come the hosts and a [trace.Sample] for each, and back.
//
//	# anything behind a # is a comment
//	web  1700000000.000123456  1700000000.000187001  0.00002
//	db   1700000000.0002       1.7000000000003e9     2e-5
//	HOST HOST_TIME             REFERENCE_TIME        ERROR
//
// When HOST's clock showed HOST_TIME the reference showed REFERENCE_TIME, give or take ERROR, all in decimal seconds.
// They become nanoseconds by their digits alone, never through a float, so that what is written is what is read. The
// error never shrinks: one finer than a nanosecond is rounded up, and grows by a nanosecond for each of the two instants
// that had to be rounded.
//
// A line that says something else is left out with a warning; a file that holds no sample at all is an error.
//
// The cost is one pass with no allocation per line and 32 bytes of memory for each sample.
package samples

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/format/internal/text"
	"meridian/trace"
)

// Expected says in one line what a file of samples looks like; errors end with it.
const Expected = "expected lines of HOST HOST_TIME REFERENCE_TIME ERROR in decimal seconds, such as: web 12.000123 12.000187 0.00002"

var (
	errFields   = errors.New("not the four fields HOST HOST_TIME REFERENCE_TIME ERROR")
	errNegative = errors.New("a negative error")
)

// Read reads a file of samples; file is its name for warnings and errors. Hosts come in order of appearance, samples in
// that of the file; Clock is an index into hosts.
func Read(r io.Reader, file string, w *trace.Warnings) (hosts []string, list []trace.Sample, err error) {
	p := parser{index: make(map[string]int)}
	lines := text.NewLines(r)
	content := false
	for {
		line, whole, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: line %d: %w", file, lines.Number+1, err)
		}
		var fields [5][]byte
		n := text.Fields(line, fields[:])
		if n == 0 && whole {
			continue
		}
		content = true
		reason := errFields
		switch {
		case !whole:
			reason = text.ErrTooLong
		case n == 4:
			reason = p.sample(lines.Number, fields[0], fields[1], fields[2], fields[3])
		}
		if reason != nil {
			p.skipped.Add(lines.Number, reason)
		}
	}
	if len(p.samples) == 0 {
		if line, reason := p.skipped.First(); reason != nil {
			return nil, nil, fmt.Errorf("%s: no sample, line %d: %w; %s", file, line, reason, Expected)
		}
		if content {
			return nil, nil, fmt.Errorf("%s: no sample: %s", file, Expected)
		}
		return nil, nil, fmt.Errorf("%s: empty: %s", file, Expected)
	}
	p.skipped.Warn(file, w)
	if c := p.rounded; c.Count > 0 {
		w.AddN(file, "stamps finer than a nanosecond rounded, their error with them", text.Place(file, c.First), c.Count)
	}
	return p.hosts, p.samples, nil
}

type parser struct {
	hosts   []string
	index   map[string]int
	samples []trace.Sample
	rounded text.Cases
	skipped text.Skipped
}

// sample adds one sample, or says why it cannot and leaves all as it was.
func (p *parser) sample(line int, host, at, reference, within []byte) error {
	h, exactH, err := text.Seconds(at, clock.Down)
	if err != nil {
		return err
	}
	r, exactR, err := text.Seconds(reference, clock.Down)
	if err != nil {
		return err
	}
	e, exactE, err := text.Seconds(within, clock.Up)
	if err != nil {
		return err
	}
	if e < 0 || within[0] == '-' && !exactE {
		return errNegative
	}
	// A nanosecond of the host's clock is one of the reference's to within its skew, which is nothing beside the part of
	// a nanosecond that rounding down leaves over.
	if !exactH {
		e++
	}
	if !exactR {
		e++
	}
	if !clock.Valid(e) {
		return text.ErrRange
	}
	i, ok := p.index[string(host)]
	if !ok {
		if !text.ValidName(host) {
			return text.ErrName
		}
		i = len(p.hosts)
		p.hosts = append(p.hosts, string(host))
		p.index[p.hosts[i]] = i
	}
	p.samples = append(p.samples, trace.Sample{Clock: i, Host: h, Reference: r, Error: int64(e)})
	if !exactH || !exactR || !exactE {
		p.rounded.Add(line)
	}
	return nil
}

// Write writes samples in the format that [Read] reads, in their order. It fails, before anything is written, on what
// Read would not bring back: hosts whose names cannot stand in a line or occur twice, instants or errors beyond
// clock.Limit, errors below zero.
func Write(w io.Writer, hosts []string, list []trace.Sample) error {
	met := make(map[string]int)
	for _, s := range list {
		if s.Clock < 0 || s.Clock >= len(hosts) {
			return fmt.Errorf("samples: host %d out of range (%d hosts)", s.Clock, len(hosts))
		}
		name := hosts[s.Clock]
		if i, ok := met[name]; ok && i != s.Clock {
			return fmt.Errorf("samples: two hosts are named %q", name)
		}
		if !text.ValidName([]byte(name)) {
			return fmt.Errorf("samples: the host name %q cannot be written: "+
				"it is empty, not UTF-8, or holds a blank, a control character or a #", name)
		}
		met[name] = s.Clock
		if !clock.Valid(s.Host) || !clock.Valid(s.Reference) || !clock.Valid(clock.HostTime(s.Error)) || s.Error < 0 {
			return fmt.Errorf("samples: sample %d, %d with error %d ns is out of range", s.Host, s.Reference, s.Error)
		}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for _, s := range list {
		line = append(line[:0], hosts[s.Clock]...)
		for _, t := range [...]clock.HostTime{s.Host, s.Reference, clock.HostTime(s.Error)} {
			line = text.AppendSeconds(append(line, ' '), t)
		}
		out.Write(append(line, '\n')) // an error stays with the writer until Flush
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	return nil
}
