package pipeline

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/source"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/internal/steering"
	"meridian/match"
	"meridian/trace"
)

// MatchOptions says what the user knows beside the traces.
type MatchOptions struct {
	Addresses map[string][]netip.Addr // by host, as match.Options
	Samples   Samples                 // for the method sampled
	// Granularity is the steps of stamps in ns by host, "" for all others. They hold instead of those that the stamps show.
	Granularity map[string]int64
	// HostAttributes are the attributes of resources that name the hosts of spans, best first, before those that name
	// them by default.
	HostAttributes []string
	// Memory keeps what grows with the input, from reading to the end of the run; nil is Go's heap.
	Memory trace.Memory
	// Dropped, unless it is nil, is told when the run uses nothing any more that Memory keeps: before it merges captures.
	Dropped func()
	// Held, unless it is nil, is told about how much the inputs take that Memory does not keep, before they are matched. It returns what the report
	// is to say of it, nil for nothing.
	Held func(input.Held) *show.Memory
}

// Matched is the inputs as one problem: the clocks, and the messages between them.
type Matched struct {
	*match.Result
	captures   []*trace.Capture
	absent     []string // which captures elsewhere could not be had
	need       *show.Memory
	memory     trace.Memory // of the run; nil: Go's heap
	recordings []recording
	steered    []*steering.Map      // by clock: to a free one; nil where there is none
	files      [][]string           // by clock: where its stamps stand
	operations [][]source.Operation // by clock: its part in the operations of message lists
	// The channels are those of messages that were sent, up to sent, and then those that collectives amount to. Of the former
	// the lists' begin at listed, and events of recordings are the endpoints of messages from recorded[0] to recorded[1].
	sent     int
	listed   int
	recorded [2]int

	resolutions resolutions
	weaker      map[int][]trace.Message // of channels of replies: what holds although servers end after their clients
	spans       *match.SpanResult       // nil without spans
}

// recording is a recording with the clocks of its hosts.
type recording struct {
	*input.Recording
	clocks []int // by host
}

// Match finds the messages in the inputs. Warnings name what was left out.
func Match(ctx context.Context, set *input.Set, o MatchOptions, w *trace.Warnings) (*Matched, error) {
	var need *show.Memory
	if o.Held != nil {
		need = o.Held(set.Held())
	}
	for _, c := range set.Captures {
		if step := o.granularityOf(c.Host); step > 0 {
			c.Granularity = step
		}
	}
	found, err := match.Match(ctx, set.Captures, match.Options{Addresses: o.ownAddresses(set), Memory: o.Memory}, w)
	if err != nil {
		return nil, err
	}
	j := newJoiner(found, set.Captures)
	j.absent, j.need, j.memory = set.Absent, need, o.Memory
	j.addTraces(set, w)
	if err := j.addSamples(o.Samples, w); err != nil {
		return nil, err
	}
	j.settleResolutions(&o)
	j.settleSteering(w)
	if err := j.checkNames(&o); err != nil {
		return nil, err
	}
	warnOfUnseen(o.Addresses, set, w)
	return j.Matched, nil
}

// ownAddresses returns the addresses of each host: those that the user gave and, of the others, those that recorders saw on
// its interfaces.
func (o *MatchOptions) ownAddresses(set *input.Set) map[string][]netip.Addr {
	return input.Stated(o.Addresses, set.OwnAddresses())
}

// granularityOf returns the stated granularity of a host, 0 if none is.
func (o *MatchOptions) granularityOf(host string) int64 {
	if step, named := o.Granularity[host]; named {
		return step
	}
	return o.Granularity[""]
}

// joiner adds to the messages of captures what message lists, recordings and samples say.
type joiner struct {
	*Matched
	number   map[string]int // of the clocks, by name
	captured int            // how many clocks captures have; those behind are of other inputs alone
	stated   map[int]int64  // by clock: the granularity that a format states
}

func newJoiner(found *match.Result, captures []*trace.Capture) *joiner {
	j := &joiner{
		Matched: &Matched{Result: found, captures: captures},
		number:  make(map[string]int), captured: len(found.Clocks), stated: make(map[int]int64),
	}
	j.resolutions.receipts, j.resolutions.sends = make(map[int]receiptSteps), make(map[int]*trace.Resolution)
	j.resolutions.grow(len(found.Clocks) - 1)
	j.weaker = make(map[int][]trace.Message)
	j.files = make([][]string, len(found.Clocks))
	j.operations = make([][]source.Operation, len(found.Clocks))
	for i, c := range found.Clocks {
		j.number[c.Name] = i
		for n, of := range found.Captures {
			if of.Sent == i || of.Received == i {
				j.files[i] = append(j.files[i], captures[n].File)
			}
		}
	}
	return j
}

// addTraces adds all message lists and recordings: first the messages that were sent, then those that collectives amount
// to.
func (j *joiner) addTraces(set *input.Set, w *trace.Warnings) {
	j.listed = len(j.Channels)
	clocks, steps := make([][]int, len(set.Lists)), make([][]*trace.Resolution, len(set.Lists))
	for n, l := range set.Lists {
		clocks[n], steps[n] = j.addMessages(l)
	}
	collectives := j.addRecordings(set, w)
	j.sent = len(j.Channels)
	for n, l := range set.Lists {
		j.addCollectives(l, clocks[n], steps[n])
		j.addBroadcasts(l, clocks[n])
	}
	for _, c := range match.Collectives(collectives) {
		j.addMarkedChannel(c)
	}
}

// clock returns the number of a clock, which it adds if no input had it so far.
func (j *joiner) clock(name string) int {
	i, known := j.number[name]
	if !known {
		i = len(j.Clocks)
		j.number[name] = i
		j.Clocks = append(j.Clocks, trace.Clock{Name: name, Host: name}) // its granularity: settleResolutions
		j.Addresses = append(j.Addresses, nil)
		j.files, j.operations = append(j.files, nil), append(j.operations, nil)
		j.resolutions.grow(i)
	}
	return i
}

// addStamp counts a stamp of a clock, and extends the clock's trace to it.
func (j *joiner) addStamp(clock int, stamp clock.HostTime) {
	j.extend(clock, stamp, stamp, 1)
}

// extend extends the trace of a clock to some events of it.
func (j *joiner) extend(clock int, first, last clock.HostTime, events int64) {
	c := &j.Clocks[clock]
	if events == 0 {
		return
	}
	if c.Events == 0 {
		c.First, c.Last = first, last
	}
	c.First, c.Last = min(c.First, first), max(c.Last, last)
	c.Events += events
}

// checkNames refuses names that no input has, which would otherwise be ignored, and names that two clocks would share.
func (j *joiner) checkNames(o *MatchOptions) error {
	named := make(map[string]bool)
	for _, c := range j.Clocks {
		if named[c.Name] {
			return usage.Errorf("%s is the name of a host and of the second clock of another; give the host another name with HOST=FILE", c.Name)
		}
		named[c.Name] = true
	}
	isHost := func(name string) bool {
		return slices.ContainsFunc(j.Clocks, func(c trace.Clock) bool { return c.Host == name })
	}
	for name := range o.Addresses {
		if !isHost(name) {
			return usage.Errorf("--address: no input is of a host %q", name)
		}
	}
	for name := range o.Granularity {
		if name != "" && !isHost(name) {
			return usage.Errorf("--granularity: no input is of a host %q", name)
		}
	}
	return nil
}

// HostNames names the clocks, the first of them where there are many.
func (m *Matched) HostNames() string {
	var names []string
	for _, c := range m.Clocks {
		names = append(names, c.Name)
	}
	return firstOf(names)
}

// filesOf names the files in which the stamps of clocks stand.
func (m *Matched) filesOf(clocks ...int) string {
	var files []string
	for _, i := range clocks {
		for _, name := range m.files[i] {
			if !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return strings.Join(files, ", ")
}

// rowName distinguishes the rows of a host's second clock from those of its first.
func (m *Matched) rowName(clock int, name string) string {
	if c := &m.Clocks[clock]; c.Name != c.Host {
		return name + " (" + c.Name + ")"
	}
	return name
}

// isFile reports whether a capture is a file; others were made of a kernel's events.
func (m *Matched) isFile(c *trace.Capture) bool {
	return !slices.ContainsFunc(m.recordings, func(x recording) bool { return x.Capture == c })
}

// captureRow names the row of a capture's packets: after its file where a host has several.
func (m *Matched) captureRow(c *trace.Capture) string {
	for _, other := range m.captures {
		if other != c && other.Host == c.Host && m.isFile(other) {
			return "packets " + input.Stem(c.File)
		}
	}
	return "packets"
}
