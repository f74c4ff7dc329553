package pipeline

import (
	"strings"

	"meridian/format"
	"meridian/format/samples"
	"meridian/internal/pipeline/usage"
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

// addSamples reads the samples. Their reference becomes a clock like others unless it is one. Samples of hosts that no
// input is of are left out.
func (j *joiner) addSamples(from Samples, w *trace.Warnings) error {
	if from.File == "" {
		return nil
	}
	hosts, list, err := readSamples(from.File, w)
	if err != nil {
		return err
	}
	var traced []string
	for _, c := range j.Clocks {
		traced = append(traced, c.Name)
	}
	reference, isHost := j.number[from.Name()]
	clocks := make([]int, len(hosts)) // by host of the file; -1: no input is of it
	found := 0
	for k, host := range hosts {
		i, known := j.number[host]
		if isHost && i == reference && known {
			return usage.Errorf("%s: samples of %s against itself", from.File, host)
		}
		if clocks[k] = -1; known {
			clocks[k] = i
			found++
			continue
		}
		w.Add(from.File, "samples of "+host+" left out: no input is of this host", "")
	}
	if found == 0 {
		return usage.Errorf("%s is of the hosts %s, the traces of %s: name the traces as HOST=TRACE",
			from.File, strings.Join(hosts, ", "), strings.Join(traced, ", "))
	}
	if !isHost {
		reference = j.clock(from.Name())
		j.files[reference] = append(j.files[reference], from.File)
	}
	var granularity trace.Granularity
	for _, s := range list {
		if clocks[s.Clock] < 0 {
			continue
		}
		if !isHost {
			j.addStamp(reference, s.Reference)
			granularity.Add(s.Reference)
		}
		s.Clock, s.Against = clocks[s.Clock], reference
		j.Samples = append(j.Samples, s)
	}
	if !isHost {
		j.resolutions.coarsest[reference] = granularity.Step()
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
