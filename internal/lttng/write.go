package lttng

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/trace"
)

// domain is one trace of a session: the kernel's or a program's.
type domain struct {
	dir      string
	classes  []class
	channels [][]event
	user     bool
}

// write writes the metadata and a stream for each processor.
func (d *domain) write(t *Trace, o *Options, boot clock.HostTime) error {
	text := d.text(o, int64(boot))
	var w trace.Warnings
	m, err := ctf.ParseMetadata([]byte(text), "metadata", &w)
	if err != nil {
		return err
	}
	if lines := w.Lines(); len(lines) > 0 {
		return fmt.Errorf("metadata: %s", lines[0])
	}
	data := []byte(text)
	if !o.Plain {
		data = inPackets(text, d.uuid(o))
	}
	if err := os.WriteFile(filepath.Join(d.dir, "metadata"), data, 0o666); err != nil {
		return err
	}
	encoder := ctf.NewEncoder(m)
	for n := range d.channels {
		if err := d.stream(t, o, encoder, n, boot); err != nil {
			return err
		}
	}
	return nil
}

// stream writes the events of one processor.
func (d *domain) stream(t *Trace, o *Options, encoder *ctf.Encoder, n int, boot clock.HostTime) error {
	file, err := os.Create(filepath.Join(d.dir, fmt.Sprintf("channel0_%d", n)))
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	s, err := encoder.NewStream(out, 0, ctf.StreamOptions{
		PacketSize: o.PacketSize, Fixed: true, Instance: uint64(n), StepsBack: o.OutOfOrder, Context: []trace.Value{trace.OfUint(uint64(n))},
	})
	if err != nil {
		return err
	}
	_, of := classes(o.Style)
	last := clock.HostTime(0)
	for i := range d.channels[n] {
		e := &d.channels[n][i]
		if e.kind == discarded {
			s.Discard(uint64(e.instance))
			t.Discarded += int64(e.instance)
			continue
		}
		shown := o.Clock(e.at)
		if i > 0 && shown < last {
			t.OutOfOrder++
		}
		last = shown
		t.Events = append(t.Events, Stamp{e.at, shown})
		class := of[e.kind]
		if d.user {
			class = int(e.kind - request)
		}
		if err := s.Write(class, uint64(shown-boot), d.contextValues(o, e), nil, e.values(o.Style)); err != nil {
			return err
		}
	}
	if err := cmp.Or(s.Flush(), out.Flush(), file.Close()); err != nil {
		return err
	}
	if s.Misfits > 0 || s.Raised > 0 {
		return fmt.Errorf("channel0_%d: %d values differ in type from the metadata, %d stamps were raised", n, s.Misfits, s.Raised)
	}
	return nil
}

func (d *domain) contextValues(o *Options, e *event) []trace.Value {
	switch {
	case d.user:
		return []trace.Value{trace.OfInt(e.on.pid), trace.OfInt(e.on.tid), trace.OfText(e.on.name)}
	case o.Style == Unaddressed:
		return []trace.Value{trace.OfInt(e.on.tid), trace.OfText(e.on.name)}
	}
	return nil
}
