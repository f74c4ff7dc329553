package pipeline

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strconv"

	"meridian/clock"
	"meridian/format"
	"meridian/format/chrome"
	"meridian/format/ctf"
	"meridian/format/gotrace"
	"meridian/format/jaeger"
	"meridian/format/otlp"
	"meridian/internal/kernel"
	"meridian/match"
	"meridian/order"
	"meridian/trace"
)

// recording is an input with events beside packets and lists of messages: a trace of a kernel or of programs, spans. Its
// events are read again for each use, so that memory holds none of them.
type recording struct {
	Input
	// open brings the events from the beginning, as recorded or as the rows of a timeline; what is amiss with them was
	// said when they were first read.
	open    func(rows bool, w *trace.Warnings) (trace.Source, error)
	first   func() (trace.Source, error) // the same for the first time, when all that is amiss is said; nil: open
	marks   *trace.Marks
	capture *trace.Capture // the packets that a kernel's events tell of; nil without any
	tagged  bool           // its marks bear tags, which no other process makes: sensors wrote it
	hosts   []*recorded    // in order of appearance
	classes []bool         // of which types there are events
	late    int64          // ns that an event was behind a later one at most
}

// recorded is what a recording has of one host.
type recorded struct {
	name        string // as the file names it; "" stands for the input's
	clock       int
	first, last int64
	events      int64
}

// readers of recordings, by what the file is.
var recordings = map[format.Kind]func(string, *trace.Warnings) (*recording, error){
	format.CTF:     readCTF,
	format.OTLP:    readOTLP,
	format.Jaeger:  readJaeger,
	format.Chrome:  readChrome,
	format.GoTrace: readGoTrace,
}

// readRecording reads what alignment needs of a recording.
func readRecording(ctx context.Context, in Input, w *trace.Warnings) (*recording, error) {
	x, err := recordings[in.kind](in.Path, w)
	if err != nil {
		return nil, err
	}
	x.Input = in
	open := x.first
	if open == nil {
		open = func() (trace.Source, error) { return x.open(false, w) }
	}
	source, err := open()
	if err != nil {
		return nil, err
	}
	s := &surveyed{Source: source, ctx: ctx, of: x}
	if in.kind == format.CTF {
		s.marks = &trace.Marks{File: in.Path, Hosts: []string{""}}
		x.capture, err = kernel.Packets(s, in.Host, in.Path, w)
	} else {
		err = drain(s)
	}
	if closing := source.Close(); err == nil {
		err = closing
	}
	if x.capture != nil && x.capture.Packets.Len() == 0 {
		x.capture = nil
	}
	if s.marks != nil && len(s.marks.Marks) > 0 {
		x.marks = s.marks
	}
	return x, err
}

// drain reads all events of a source for what reading them tells.
func drain(s trace.Source) error {
	var e trace.Event
	for {
		if err := s.Next(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// surveyed notes, while somebody reads a source, of which hosts it is and from when to when.
type surveyed struct {
	trace.Source
	ctx     context.Context
	of      *recording
	streams []*recorded
	n       int
	latest  int64
	marks   *trace.Marks // of events that say themselves of which message they are an end; nil: they are not asked
	// together is the directory of the traces that share numbers of messages; "" if all do.
	together string
}

func (s *surveyed) Next(e *trace.Event) error {
	if s.n++; s.n&0xffff == 0 && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err := s.Source.Next(e); err != nil {
		return err
	}
	if s.n == 1 || e.Time > s.latest {
		s.latest = e.Time
	} else {
		s.of.late = max(s.of.late, clock.Sub(s.latest, e.Time))
	}
	for len(s.streams) <= e.Stream {
		s.streams = append(s.streams, nil)
	}
	h := s.streams[e.Stream]
	if h == nil {
		h = s.of.host(s.Source.Streams()[e.Stream].Host)
		s.streams[e.Stream] = h
	}
	for len(s.of.classes) <= e.Class {
		s.of.classes = append(s.of.classes, false)
	}
	s.of.classes[e.Class] = true
	if h.events == 0 {
		h.first, h.last = e.Time, e.Time
	}
	h.first, h.last = min(h.first, e.Time), max(h.last, e.Time)
	h.events++
	if s.marks != nil && e.Flow != 0 && e.Role != trace.NoRole {
		s.mark(e)
	}
	return nil
}

// mark notes an end of a message. What sensors wrote bears tags, which mean the same everywhere. Else its number is unique
// among the traces that were written together: they lie side by side.
func (s *surveyed) mark(e *trace.Event) {
	if s.together == "" && !s.of.tagged {
		s.together = filepath.Dir(filepath.Clean(s.of.Path))
	}
	key := trace.KeyOf("flow", s.together, strconv.FormatUint(e.Flow, 10))
	s.marks.Marks = append(s.marks.Marks, trace.Mark{Time: e.Time, Key: key, Stream: e.Stream, Role: e.Role})
}

// window says how long its events have to wait for one that may be before them: as long as they had to when they were
// first read, since they come in the same order each time.
func (x *recording) window() int64 {
	if x.late == 0 {
		return order.InOrder
	}
	return min(x.late, order.DefaultWindow)
}

// worth says whether its events are to be read ahead, each time by themselves: where they are decoded anew.
func (x *recording) worth() bool {
	return (x.kind == format.CTF || x.kind == format.GoTrace) && runtime.GOMAXPROCS(0) > 1
}

// host returns what a recording has of a host.
func (x *recording) host(name string) *recorded {
	for _, h := range x.hosts {
		if h.name == name {
			return h
		}
	}
	h := &recorded{name: name}
	x.hosts = append(x.hosts, h)
	return h
}

func readCTF(path string, w *trace.Warnings) (*recording, error) {
	events := func(w *trace.Warnings) (trace.Source, error) {
		t, err := ctf.Open(path, w)
		if err != nil {
			return nil, err
		}
		return t.Events(), nil
	}
	x := &recording{
		open: func(rows bool, w *trace.Warnings) (trace.Source, error) {
			s, err := events(new(trace.Warnings))
			if err != nil || !rows {
				return s, err
			}
			return kernel.Rows(s, w), nil
		},
	}
	x.first = func() (trace.Source, error) {
		t, err := ctf.Open(path, w)
		if err != nil {
			return nil, err
		}
		env := t.Env()
		x.tagged = env["tracer_name"] == "meridian" && (env["domain"] == "ust" || env["domain"] == "host")
		return t.Events(), nil
	}
	return x, nil
}

// file is what packages that read whole files of spans and slices return.
type file interface {
	Marks() *trace.Marks
	Events() trace.Source
}

func readOTLP(path string, w *trace.Warnings) (*recording, error) {
	return readFile(otlp.Read(path, w))
}
func readJaeger(path string, w *trace.Warnings) (*recording, error) {
	return readFile(jaeger.Read(path, w))
}

func readFile[F file](f F, err error) (*recording, error) {
	if err != nil {
		return nil, err
	}
	return &recording{
		marks: f.Marks(),
		open:  func(bool, *trace.Warnings) (trace.Source, error) { return f.Events(), nil },
	}, nil
}

func readChrome(path string, w *trace.Warnings) (*recording, error) {
	return readFile(chrome.Read(path, w))
}

// readGoTrace reads the file for each use, since it may be larger than memory.
func readGoTrace(path string, w *trace.Warnings) (*recording, error) {
	events := func(w *trace.Warnings) (trace.Source, error) {
		f, err := gotrace.Read(path, w)
		if err != nil {
			return nil, err
		}
		return f.Events(), nil
	}
	return &recording{
		first: func() (trace.Source, error) { return events(w) },
		open:  func(bool, *trace.Warnings) (trace.Source, error) { return events(new(trace.Warnings)) },
	}, nil
}

// addRecordings gives the hosts of recordings clocks, joins the messages that their marks name, and returns the collectives.
func (r *run) addRecordings() []trace.Collective {
	number := r.numbers()
	r.steps = make(map[int]int64)
	clockOf := func(x *recording, name string) int {
		if name == "" {
			name = x.Host
		}
		i, known := number[name]
		if !known {
			i = r.addClock(name)
			number[name] = i
		}
		return i
	}
	var tagged []match.TaggedFile
	for _, x := range r.recordings {
		for _, h := range x.hosts {
			h.clock = clockOf(x, h.name)
			r.extend(h)
		}
		if x.capture != nil { // its packets are among its events
			r.matched.Clocks[clockOf(x, "")].Events -= int64(x.capture.Packets.Len())
		}
		if x.marks == nil || len(x.marks.Marks) == 0 {
			continue
		}
		clocks := make([]int, len(x.marks.Hosts))
		for i, name := range x.marks.Hosts {
			clocks[i] = clockOf(x, name)
			if step := x.marks.Granularity; step > 0 {
				r.steps[clocks[i]] = max(r.steps[clocks[i]], step)
			}
		}
		for _, m := range x.marks.Marks {
			r.refine(clocks[m.Host], m.Time)
		}
		tagged = append(tagged, match.TaggedFile{Marks: x.marks, Clocks: clocks})
	}
	found := match.Tagged(tagged, &r.warnings)
	for _, x := range r.recordings {
		x.marks = nil // of millions of messages they are a large part of what there is
	}
	r.drawn[0] = len(r.matched.Channels)
	r.matched.Channels = append(r.matched.Channels, found.Channels...)
	r.drawn[1] = len(r.matched.Channels)
	return found.Collectives
}

// extend extends a clock's trace to what a recording has of it.
func (r *run) extend(h *recorded) {
	c := &r.matched.Clocks[h.clock]
	if h.events == 0 {
		return
	}
	if c.Events == 0 {
		c.First, c.Last = h.first, h.last
	}
	c.First, c.Last = min(c.First, h.first), max(c.Last, h.last)
	c.Events += h.events
}

// only selects the events of one host: a source of several is read once for each.
func (x *recording) only(name string, s trace.Source) func(*trace.Event) bool {
	if len(x.hosts) < 2 {
		return nil
	}
	var of []int8 // by stream: 1 this host's, -1 another's
	return func(e *trace.Event) bool {
		for len(of) <= e.Stream {
			of = append(of, 0)
		}
		if of[e.Stream] == 0 {
			of[e.Stream] = -1
			if s.Streams()[e.Stream].Host == name {
				of[e.Stream] = 1
			}
		}
		return of[e.Stream] > 0
	}
}
