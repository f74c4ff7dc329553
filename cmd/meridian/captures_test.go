package main_test

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/clock"
)

// capture is what one host's capture holds. Its line in a world's description ends in words:
//
//	ns         pcap in nanoseconds instead of microseconds
//	flags      pcapng: packets say whether they went or came
//	comments   pcapng: every fifth packet has a comment
//	step=-3s   in the middle the stamps jump by so much
type capture struct {
	path   string
	host   *host
	step   int64 // of the file's stamps, ns
	frames []seen
}

// seen is one frame of a capture.
type seen struct {
	at      clock.TimelineTime // true time
	stamp   clock.HostTime     // what the clock showed then, before the file's step cut it
	sent    bool
	data    []byte
	comment string
}

// addCapture notes what the host saw of everything described so far.
func (w *world) addCapture(path, name string, words []string, values settings) error {
	h, err := w.host(name)
	if err != nil {
		return err
	}
	c := &capture{path: path, host: h, step: 1}
	for _, p := range w.packets {
		switch h {
		case p.from:
			c.frames = append(c.frames, seen{at: p.sent, stamp: h.tx.At(p.sent), sent: true, data: p.data})
		case p.to:
			c.frames = append(c.frames, seen{at: p.arrived, stamp: h.rx.At(p.arrived), data: p.data})
		}
	}
	slices.SortStableFunc(c.frames, func(a, b seen) int { return cmp.Compare(a.at, b.at) })
	if step := values.duration("step", 0); step != 0 {
		for i := len(c.frames) / 2; i < len(c.frames); i++ {
			c.frames[i].stamp += clock.HostTime(step)
		}
	}
	if slices.Contains(words, "comments") {
		for i := 0; i < len(c.frames); i += 5 {
			c.frames[i].comment = fmt.Sprintf("frame %d of %s", i, path)
		}
	}
	w.captures = append(w.captures, c)
	return cmp.Or(c.write(filepath.Join(w.directory, path), slices.Contains(words, "ns"), slices.Contains(words, "flags")), values.wrong())
}

// write writes the capture as the extension of its name says.
func (c *capture) write(path string, ns, flags bool) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	if isBlocks(c.path) {
		err = c.writeBlocks(out, flags)
	} else {
		err = c.writeRecords(out, ns)
	}
	return cmp.Or(err, out.Flush(), file.Close())
}

func isBlocks(path string) bool { return len(path) > 7 && path[len(path)-7:] == ".pcapng" }

func (c *capture) writeRecords(out *bufio.Writer, ns bool) error {
	w := pcapgo.NewWriterNanos(out)
	if !ns {
		w, c.step = pcapgo.NewWriter(out), 1000
	}
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		return err
	}
	for _, f := range c.frames {
		if err := w.WritePacket(f.info(), f.data); err != nil {
			return err
		}
	}
	return nil
}

func (c *capture) writeBlocks(out *bufio.Writer, flags bool) error {
	face := pcapgo.NgInterface{Name: "eth0", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}
	w, err := pcapgo.NewNgWriterInterface(out, face, pcapgo.DefaultNgWriterOptions)
	if err != nil {
		return err
	}
	for _, f := range c.frames {
		var options pcapgo.NgPacketOptions
		if flags {
			options.Flags = &pcapgo.NgEpbFlags{Direction: pcapgo.NgEpbFlagDirectionInbound}
			if f.sent {
				options.Flags.Direction = pcapgo.NgEpbFlagDirectionOutbound
			}
		}
		if f.comment != "" {
			options.Comments = []string{f.comment}
		}
		if err := w.WritePacketWithOptions(f.info(), f.data, options); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (f *seen) info() gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(f.stamp)), CaptureLength: len(f.data), Length: len(f.data)}
}

// clock names the clock, as the report does, that stamped a frame.
func (c *capture) clock(f *seen) string {
	if c.host.two && !f.sent {
		return c.host.name + "/rx"
	}
	return c.host.name
}
