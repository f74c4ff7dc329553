package input

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"meridian/format"
	"meridian/format/messages"
	"meridian/format/pcap"
	"meridian/trace"
)

// Set is what alignment needs of all traces, each kind in the order in which they were given.
type Set struct {
	// Captures are the files of packets, and the packets among the events of kernels.
	Captures   []*trace.Capture
	Lists      []*trace.List
	Recordings []*Recording
	// Absent says which captures elsewhere could not be had, each with the reason.
	Absent []string
	// Marks are the message endpoints in each recording; nil where it has none. They are apart because they are large,
	// and not needed after matching.
	Marks []*trace.Marks
}

// What a run takes on Go's heap, whatever its Memory, bytes: how much its peak grew with each, measured (docs/scale.md).
const (
	flowMemory    = 1100 // of a capture
	markMemory    = 210  // of a recording: with its spans, which are in memory too
	messageMemory = 20   // of a list
)

// Held is about how much of the heap the parts of inputs take that no [trace.Memory] keeps, bytes.
type Held struct{ Flows, Marks, Messages int64 }

// Sum is what all take.
func (h Held) Sum() int64 { return h.Flows + h.Marks + h.Messages }

// Held returns about how much of the heap these take.
func (s *Set) Held() (h Held) {
	for _, c := range s.Captures {
		h.Flows += int64(len(c.Flows)) * flowMemory
	}
	for _, m := range s.Marks {
		if m != nil {
			h.Marks += int64(len(m.Marks)+2*len(m.Spans)) * markMemory
		}
	}
	for _, l := range s.Lists {
		for _, c := range l.Channels {
			h.Messages += int64(len(c.Messages)) * messageMemory
		}
	}
	return h
}

// content is what one trace holds: one of these, and marks with a recording.
type content struct {
	absent    string // why a capture elsewhere could not be had
	capture   *trace.Capture
	list      *trace.List
	recording *Recording
	marks     *trace.Marks
}

// Read reads all traces, several at a time. It calls progress from several goroutines, with bytes. m keeps the packets, unless it is nil.
func Read(ctx context.Context, traces []Trace, m trace.Memory, w *trace.Warnings, progress func(done, total int64)) (*Set, error) {
	var total int64
	for _, in := range traces {
		total += in.size()
	}
	var done atomic.Int64
	contents := make([]content, len(traces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, in := range traces {
		group.Go(func() (err error) {
			var before int64
			contents[i], err = read(ctx, in, m, w, func(read int64) {
				progress(done.Add(read-before), total)
				before = read
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	dropDuplicates(contents)
	s := newSet(contents, w)
	if len(s.Absent) > 0 && len(s.Absent) == len(traces) {
		return nil, errors.New(s.Absent[0])
	}
	return s, nil
}

// read reads one trace. It calls advance with the bytes read so far.
func read(ctx context.Context, in Trace, m trace.Memory, w *trace.Warnings, advance func(read int64)) (c content, err error) {
	switch {
	case in.away != nil:
		return in.away.read(ctx, in, m, w, advance)
	case in.kind == format.Messages:
		c.list, err = readList(in.Path, w)
	case recordingFormats[in.kind] != nil:
		c.recording, c.marks, err = readRecording(ctx, in, m, w)
	default:
		c.capture, err = pcap.ReadIn(ctx, in.Path, in.Host, m, w, advance)
	}
	return c, err
}

func newSet(contents []content, w *trace.Warnings) *Set {
	s := new(Set)
	for _, c := range contents {
		switch {
		case c.absent != "":
			s.Absent = append(s.Absent, c.absent)
		case c.capture != nil:
			s.Captures = append(s.Captures, c.capture)
			if c.capture.Packets.Len() == 0 {
				w.Add(c.capture.File, "no packets in it", "")
			}
		case c.list != nil:
			s.Lists = append(s.Lists, c.list)
		case c.recording != nil:
			s.Recordings = append(s.Recordings, c.recording)
			s.Marks = append(s.Marks, c.marks)
			if c.recording.Capture != nil {
				s.Captures = append(s.Captures, c.recording.Capture)
			}
		}
	}
	return s
}

func readList(path string, w *trace.Warnings) (*trace.List, error) {
	text, err := format.OpenText(path)
	if err != nil {
		return nil, err
	}
	l, err := messages.Read(text, path, w)
	if closing := text.Close(); err == nil && closing != nil {
		return nil, closing
	}
	return l, err
}
