package pipeline

import (
	"strings"

	"meridian/format"
	"meridian/format/samples"
	"meridian/trace"
)

// Samples is a file of readings of the hosts' clocks against a reference. The zero value is none.
type Samples struct {
	File      string
	Reference string // the name of the clock that they were taken against; "" means "reference". It may be a host's.
}

// Name is the reference's.
func (s *Samples) Name() string {
	if s.Reference == "" {
		return "reference"
	}
	return s.Reference
}

// addSamples reads the samples. Their reference becomes a clock like others unless it is one; of hosts that no input is
// of, nothing can be aligned.
func (r *run) addSamples() error {
	if r.Samples.File == "" {
		return nil
	}
	hosts, list, err := readSamples(r.Samples.File, &r.warnings)
	if err != nil {
		return err
	}
	number := r.numbers()
	var traced []string
	for _, c := range r.matched.Clocks {
		traced = append(traced, c.Name)
	}
	name := r.Samples.Name()
	against, isHost := number[name]
	of := make([]int, len(hosts))
	found := 0
	for k, host := range hosts {
		i, known := number[host]
		if isHost && i == against && known {
			return usage("%s: samples of %s against itself", r.Samples.File, host)
		}
		if of[k] = -1; known {
			of[k] = i
			found++
			continue
		}
		r.warnings.Add(r.Samples.File, "samples of "+host+", which no input is of, are left out", "")
	}
	if found == 0 {
		return usage("%s is of the hosts %s, the traces of %s: name the traces as HOST=TRACE",
			r.Samples.File, strings.Join(hosts, ", "), strings.Join(traced, ", "))
	}
	if !isHost {
		against = r.addClock(name)
		r.sampled = against
	}
	for _, s := range list {
		if of[s.Clock] < 0 {
			continue
		}
		if !isHost {
			r.see(against, s.Reference)
		}
		s.Clock, s.Against = of[s.Clock], against
		r.matched.Samples = append(r.matched.Samples, s)
	}
	return nil
}

func readSamples(path string, w *trace.Warnings) (hosts []string, list []trace.Sample, err error) {
	text, err := format.OpenText(path)
	if err != nil {
		return nil, nil, err
	}
	hosts, list, err = samples.Read(text, path, w)
	if closing := text.Close(); err == nil && closing != nil {
		return nil, nil, closing
	}
	return hosts, list, err
}
