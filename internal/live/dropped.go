package live

import (
	"path/filepath"
	"strings"

	"meridian/format/ctf"
	"meridian/internal/retention"
)

// dropped counts what the recorder of a trace removed (record --keep) before it was read. Package retention says how a trace tells of it:
// an event for each file, with the counts of that file and of all so far. A file that was found stays open and is read to its end after
// it was removed, so what counts are
//
//	files that were told of and never found            a follower that stood still longer than is kept
//	events of a file that were not in what was found   a copy that got less of it than the recorder wrote
//	what is among all and was told of no file          events that were themselves dropped unread
//
// The last also counts files that were found and read. These are subtracted: they were found, are gone, and no event told of them.
// What was dropped before the trace was first looked at does not count.
type dropped struct {
	retains bool           // the trace has had events of drops
	before  retention.Span // all that was dropped before the first look
	last    retention.Span // all that was, as the event says that was read last
	unnamed retention.Span // among all, and told of no file
	files   map[string]*droppedFile
	unfound []string      // files that were told of and not found, the latest maxUnfound
	lacks   droppedCounts // of files of which nothing more can come

	known []bool // by class: whether it is that of the events
}

// droppedFile is a file that was found, or told of.
type droppedFile struct {
	found, closed, told bool
	has                 retention.Span // what it had, as told
	read                droppedCounts  // once it is closed
	damaged             bool           // what it lacks is counted as damage
}

// droppedCounts counts events, and packets whose events nobody counted.
type droppedCounts struct{ events, packets int64 }

func (c *droppedCounts) add(o droppedCounts) {
	c.events += o.events
	c.packets += o.packets
}

// maxUnfound is how many files are remembered that were told of and not found: a copy of a trace may get a file later.
const maxUnfound = 1024

// stateFiles is how the names of files begin that have readings of clocks. They are not counted among all.
const stateFiles = "clocks_"

func (d *dropped) file(name string) *droppedFile {
	f := d.files[name]
	if f == nil {
		if d.files == nil {
			d.files = make(map[string]*droppedFile)
		}
		f = new(droppedFile)
		d.files[name] = f
	}
	return f
}

// Opened notes that a file was found.
func (d *dropped) Opened(name string) {
	if strings.HasPrefix(name, retention.Stream+"_") {
		d.retains = true
	}
	d.file(name).found = true
}

// Closed notes what was read of a file of which nothing more is read.
func (d *dropped) Closed(name string, t ctf.Tally) {
	d.closed(name, droppedCounts{t.Events, t.Packets}, t.Damaged+t.Broken+t.Lost > 0)
}

func (d *dropped) closed(name string, read droppedCounts, damaged bool) {
	f := d.files[name]
	switch {
	case f == nil:
	case !d.retains:
		delete(d.files, name)
	default:
		f.closed, f.read, f.damaged = true, read, damaged
		d.settle(name, f)
	}
}

// settle counts what a file lacks of which all is known.
func (d *dropped) settle(name string, f *droppedFile) {
	if !f.told || !f.closed {
		return
	}
	if !f.damaged {
		d.lacks.add(lacking(f.has, f.read))
	}
	delete(d.files, name)
}

// lacking returns what was not read of packets: events, unless nobody counted these.
func lacking(has retention.Span, read droppedCounts) (c droppedCounts) {
	if has.Events > 0 {
		c.events = max(0, int64(has.Events)-read.events)
	} else {
		c.packets = max(0, int64(has.Packets)-read.packets)
	}
	return c
}

// tell takes the event of a drop.
func (d *dropped) tell(x *retention.Dropped) {
	if strings.HasPrefix(x.File, stateFiles) {
		delete(d.files, x.File)
		return
	}
	old := x.All.Bytes <= d.before.Bytes
	if gap := minus(minus(x.All, d.last), x.Span); !old && int64(gap.Bytes) > 0 {
		d.unnamed.Packets += gap.Packets
		d.unnamed.Events += gap.Events
	}
	f := d.file(x.File)
	if f.told = true; !old {
		f.has, d.last = x.Span, x.All
	}
	switch {
	case old && !f.found:
		delete(d.files, x.File)
	case !f.found:
		d.unfound = append(d.unfound, x.File)
		d.forget()
	default:
		d.settle(x.File, f)
	}
}

// minus subtracts counts, modulo 2^64.
func minus(a, b retention.Span) retention.Span {
	return retention.Span{Packets: a.Packets - b.Packets, Events: a.Events - b.Events, Bytes: a.Bytes - b.Bytes}
}

// forget counts the oldest of the files that were not found for good.
func (d *dropped) forget() {
	for ; len(d.unfound) > maxUnfound; d.unfound = d.unfound[1:] {
		name := d.unfound[0]
		if f := d.files[name]; f != nil && f.told && !f.found {
			d.lacks.add(lacking(f.has, droppedCounts{}))
			delete(d.files, name)
		}
	}
}

// count returns what was dropped before it was read.
func (d *dropped) count() droppedCounts {
	c := d.lacks
	var untold droppedCounts
	for _, f := range d.files {
		switch {
		case f.told && !f.found:
			c.add(lacking(f.has, droppedCounts{}))
		case !f.told && f.closed:
			untold.add(f.read)
		}
	}
	c.add(lacking(d.unnamed, untold))
	return c
}

// see takes the event that was read, if it tells of a drop.
func (d *dropped) see(in *input) {
	class := in.event.Class
	for all := in.trace.Classes(); len(d.known) <= class; {
		d.known = append(d.known, all[len(d.known)].Name == droppedClass)
	}
	if !d.known[class] {
		return
	}
	if x, ok := retention.Read(in.trace.Reader()); ok && filepath.Base(x.File) == x.File {
		d.tell(&x)
	}
}

var droppedClass = retention.Class().Name

// begin takes what was dropped before the trace was first looked at. What cannot be read of that is not known, and counts.
func (d *dropped) begin(dir string) {
	if x, ok, _ := retention.Of(dir); ok {
		d.before, d.last = x.All, x.All
	}
}
