package live

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/format/pcap"
	"meridian/internal/pipeline/source"
	"meridian/trace"
)

// followedCapture is a capture that grows, as a source of events with one row, "packets".
type followedCapture struct {
	*pcap.Follower
	stream [1]trace.Stream
	frame  trace.Frame
	packet trace.Packet
	values source.PacketValues
}

// maxFlows is how many flows a capture keeps: those of later packets are numbered anew then.
const maxFlows = 1 << 16

func followCapture(path string, w *trace.Warnings) *followedCapture {
	return &followedCapture{Follower: pcap.Follow(path, w), stream: [1]trace.Stream{{Name: "packets", Kind: trace.Device, Parent: -1}}}
}

func (c *followedCapture) Refresh() (bool, error) {
	if len(c.Flows()) > maxFlows {
		c.ForgetFlows()
	}
	return c.Follower.Refresh()
}

func (c *followedCapture) Next(e *trace.Event) error {
	err := c.Follower.Next(&c.frame, &c.packet)
	if err == nil {
		*e = trace.Event{Time: c.packet.Time}
	}
	return err
}

func (c *followedCapture) Values() []trace.Value {
	return c.values.Of(&c.packet, c.Flows(), c.frame.Number+1)
}

func (c *followedCapture) Streams() []trace.Stream { return c.stream[:] }
func (c *followedCapture) Classes() []trace.Class  { return source.PacketClasses() }

// capturePackets are those of a capture since the reducer was begun.
type capturePackets struct {
	of      *followedCapture
	capture trace.Capture
	decoder *pcap.Decoder
}

func newCapturePackets(in *input) *capturePackets {
	return &capturePackets{of: in.capture, capture: trace.Capture{Host: in.name, File: in.dir}, decoder: pcap.NewDecoder(in.dir, nil)}
}

func (x *capturePackets) add(in *input) {
	c := x.of
	p := x.capture.Packets.Append()
	x.decoder.Decode(c.Interfaces()[c.frame.Interface].LinkType, &c.frame, p)
	if c.packet.Kind == trace.Untimed {
		p.Kind = trace.Untimed
	}
}

func (x *capturePackets) Packets() int { return x.capture.Packets.Len() }

func (x *capturePackets) Capture() *trace.Capture {
	x.capture.Flows, x.capture.Interfaces, x.capture.Granularity = x.decoder.Flows(), x.of.Interfaces(), x.of.Granularity()
	return &x.capture
}

// followsCapture says whether a path is followed as a capture. A trace is a directory; so all else that is there is followed as a capture, whose
// follower says what is wrong with it.
func followsCapture(path string) bool {
	if info, err := os.Stat(path); err == nil {
		return !info.IsDir()
	}
	return IsCapture(path)
}

// IsCapture says whether a path is that of a capture, by its first bytes, or by its name while these are not there.
func IsCapture(path string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return namesCapture(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return false // opening a pipe would block
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 12)
	if n, _ := f.ReadAt(head, 0); n < len(head) {
		return namesCapture(path)
	}
	return pcap.Recognises(head)
}

func namesCapture(path string) bool {
	return slices.Contains([]string{".pcap", ".pcapng", ".cap"}, strings.ToLower(filepath.Ext(path)))
}
