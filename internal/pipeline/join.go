package pipeline

import (
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/source"
	"meridian/match"
	"meridian/trace"
)

// addMessages adds the messages of a list, and returns the clocks of its hosts and how coarse their timestamps are. A
// host that a capture has keeps its clock.
func (j *joiner) addMessages(l *trace.List) (clocks []int, steps []*trace.Resolution) {
	for _, name := range l.Hosts {
		i := j.clock(name)
		clocks = append(clocks, i)
		j.files[i] = append(j.files[i], l.File)
	}
	steps = j.resolutions.addList(l, clocks)
	for _, c := range l.Channels {
		from, to := clocks[c.From], clocks[c.To]
		for _, m := range c.Messages {
			j.addStamp(from, m.Sent)
			j.addStamp(to, m.Received)
		}
		j.resolutions.sends[len(j.Channels)], j.resolutions.receipts[len(j.Channels)] = steps[c.From], receiptSteps{all: steps[c.To]}
		j.Channels = append(j.Channels, trace.Channel{From: from, To: to, Messages: c.Messages})
	}
	return clocks, steps
}

// addCollectives adds the messages that a list's collectives amount to. The events of their members are when they entered
// and when they left, however many messages that makes.
func (j *joiner) addCollectives(l *trace.List, clocks []int, steps []*trace.Resolution) {
	for _, c := range l.Collectives {
		for _, m := range c.Members {
			i := clocks[m.Clock]
			j.addStamp(i, m.Entered)
			j.addStamp(i, m.Left)
			j.operations[i] = append(j.operations[i],
				source.Operation{At: m.Entered, Kind: source.Enters, Name: c.Name}, source.Operation{At: m.Left, Kind: source.Leaves, Name: c.Name})
		}
	}
	for _, c := range match.Collectives(l.Collectives) {
		j.resolutions.receipts[len(j.Channels)] = receiptSteps{all: steps[c.To]}
		c.From, c.To = clocks[c.From], clocks[c.To]
		j.Channels = append(j.Channels, c)
	}
}

// addBroadcasts adds a list's broadcasts.
func (j *joiner) addBroadcasts(l *trace.List, clocks []int) {
	for _, b := range l.Broadcasts {
		receptions := make([]trace.Stamp, len(b.Receptions))
		for k, x := range b.Receptions {
			i := clocks[x.Clock]
			receptions[k] = trace.Stamp{Clock: i, Time: x.Time}
			j.addStamp(i, x.Time)
			j.operations[i] = append(j.operations[i], source.Operation{At: x.Time, Kind: source.Hears, Name: "a broadcast"})
		}
		j.Broadcasts = append(j.Broadcasts, trace.Broadcast{Receptions: receptions})
	}
}

// addRecordings adds the hosts of recordings and the messages that their marks name, and returns the collectives.
func (j *joiner) addRecordings(set *input.Set, w *trace.Warnings) []trace.Collective {
	clockOf := func(x *input.Recording, name string) int {
		if name == "" {
			name = x.Host
		}
		return j.clock(name)
	}
	var tagged []match.TaggedFile
	var spans []match.SpanFile
	for n, x := range set.Recordings {
		r := recording{Recording: x}
		for _, h := range x.Hosts {
			i := clockOf(x, h.Name)
			r.clocks = append(r.clocks, i)
			j.files[i] = append(j.files[i], x.Path)
			j.extend(i, h.First, h.Last, h.Events)
			j.resolutions.addRecorded(i, h)
		}
		if len(x.Hosts) == 0 { // it is a host all the same, that nothing aligns
			w.Add(x.Path, "no events in it", "")
			i := clockOf(x, "")
			j.files[i] = append(j.files[i], x.Path)
		}
		j.recordings = append(j.recordings, r)
		if x.Capture != nil { // its packets are among its events
			j.Clocks[clockOf(x, "")].Events -= int64(x.Capture.Packets.Len())
		}
		marks := set.Marks[n]
		if marks == nil || len(marks.Marks)+len(marks.Spans) == 0 {
			continue
		}
		clocks := make([]int, len(marks.Hosts))
		for i, name := range marks.Hosts {
			clocks[i] = clockOf(x, name)
			if marks.Granularity > 0 {
				j.stated[clocks[i]] = max(j.stated[clocks[i]], marks.Granularity)
			}
		}
		if len(marks.Spans) > 0 {
			spans = append(spans, match.SpanFile{Marks: marks, Clocks: clocks})
			continue
		}
		for _, m := range marks.Marks {
			j.resolutions.marks[clocks[m.Host]].Add(m.Time)
		}
		tagged = append(tagged, match.TaggedFile{Marks: marks, Clocks: clocks})
	}
	found := match.Tagged(tagged, w)
	j.recorded[0] = len(j.Channels)
	for _, c := range found.Channels {
		j.addMarkedChannel(c)
	}
	if len(spans) > 0 {
		j.addSpans(match.Spans(spans))
	}
	j.recorded[1] = len(j.Channels)
	return found.Collectives
}

// addMarkedChannel adds a channel of events of recordings that name their messages. Of several recordings of a clock
// each is as coarse as all together.
func (j *joiner) addMarkedChannel(c trace.Channel) {
	r := &j.resolutions
	step := max(r.marks[c.To].Step(), j.stated[c.To])
	r.coarsest[c.To] = max(r.coarsest[c.To], step)
	r.receipts[len(j.Channels)] = receiptSteps{all: &trace.Resolution{Step: step}}
	j.Channels = append(j.Channels, c)
}

// addSpans adds the messages of spans.
func (j *joiner) addSpans(found *match.SpanResult) {
	j.spans = found
	for _, c := range found.Channels {
		j.resolutions.receipts[len(j.Channels)] = receiptSteps{each: c.Steps}
		if c.Weaker != nil {
			j.weaker[len(j.Channels)] = c.Weaker
		}
		j.Channels = append(j.Channels, c.Channel)
	}
}
