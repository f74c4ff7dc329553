package pipeline

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"meridian/format/messages"
	"meridian/format/pcap"
	"meridian/internal/sim"
	"meridian/trace"
)

// Simulation says what traces to make, and where.
type Simulation struct {
	Scenario sim.Scenario
	Dir      string // made if missing; it may hold what another simulation wrote, and nothing else
	Captures bool   // a capture for each host (host0.pcapng, ...) instead of one list (messages.txt)
	// Progress is as in [Options].
	Progress func(stage string, done, total int64)
}

// Simulated is what a simulation came to.
type Simulated struct {
	Truth     *sim.Truth
	Messages  int64
	Traces    []string // the files that an alignment would be given
	TruthFile string
}

// simulated are the names of files that a simulation writes, and may therefore replace.
var simulated = regexp.MustCompile(`^(messages\.txt|truth\.json|host\d+\.pcapng)$`)

const (
	listFile  = "messages.txt"
	truthFile = "truth.json"
)

// Simulate makes traces of simulated hosts with the truth beside them. All files appear when all are whole, and files of
// a simulation before go then. It returns a [UsageError] for a scenario that cannot be and for a directory that holds
// something else.
func Simulate(ctx context.Context, o Simulation) (*Simulated, error) {
	s := &simulation{Simulation: o, ctx: ctx}
	if s.Progress == nil {
		s.Progress = func(string, int64, int64) {}
	}
	expected, err := s.Scenario.Expected()
	if err != nil {
		return nil, &UsageError{strings.TrimPrefix(err.Error(), "sim: ")}
	}
	s.expected = int64(expected)
	before, err := s.mine()
	if err != nil {
		return nil, err
	}
	truth, err := s.Scenario.Play(s.take)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &UsageError{strings.TrimPrefix(err.Error(), "sim: ")}
	}
	done := &Simulated{Truth: truth, Messages: s.count, TruthFile: filepath.Join(s.Dir, truthFile)}
	names, err := s.publish(truth)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name != truthFile {
			done.Traces = append(done.Traces, filepath.Join(s.Dir, name))
		}
	}
	for _, name := range before {
		if !slices.Contains(names, name) {
			if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
				return nil, err
			}
		}
	}
	return done, nil
}

// simulation is the state of one.
type simulation struct {
	Simulation
	ctx             context.Context
	count, expected int64
	channels        []trace.Channel // by link, for a list
	ends            [][]end         // by host, for captures
}

// end is one end of a message: a packet in the capture of the host where it was seen.
type end struct {
	at, stamp int64 // true time, and the host's
	message   uint32
	link      int32 // by number in the truth
	received  bool
}

// mine returns the files of a simulation before that lie in the directory.
func (s *simulation) mine() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !simulated.MatchString(e.Name()) || !e.Type().IsRegular() {
			return nil, usage("%s holds %s, which no simulation wrote; give a directory of its own", s.Dir, e.Name())
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// take keeps a message.
func (s *simulation) take(f *sim.Flight) error {
	if s.count&0xffff == 0 {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		s.Progress("simulating", s.count, s.expected)
	}
	number := uint32(s.count)
	s.count++
	if s.Captures {
		for len(s.ends) <= max(f.From, f.To) {
			s.ends = append(s.ends, nil)
		}
		link := int32(f.Link)
		s.ends[f.From] = append(s.ends[f.From], end{f.Left, f.Sent, number, link, false})
		s.ends[f.To] = append(s.ends[f.To], end{f.Arrived, f.Received, number, link, true})
		return nil
	}
	for len(s.channels) <= f.Link {
		s.channels = append(s.channels, trace.Channel{})
	}
	c := &s.channels[f.Link]
	c.From, c.To = f.From, f.To
	c.Messages = append(c.Messages, trace.Message{Sent: f.Sent, Received: f.Received})
	return nil
}

// publish writes the files in a directory of their own, moves them to their places when all are whole, and returns their
// names, in order.
func (s *simulation) publish(truth *sim.Truth) (names []string, err error) {
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(s.Dir, ".simulate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	write := func(name string, content func(io.Writer) error) {
		if err == nil {
			err = s.file(filepath.Join(work, name), content)
			names = append(names, name)
		}
	}
	if s.Captures {
		hosts := make(map[string]int)
		for i, h := range truth.Hosts {
			hosts[h.Name] = i
		}
		for i, h := range truth.Hosts {
			s.Progress("writing", int64(i), int64(len(truth.Hosts)))
			var ends []end
			if i < len(s.ends) {
				ends = s.ends[i]
			}
			write(h.Name+".pcapng", func(w io.Writer) error { return writeEnds(w, truth, hosts, h.Name, ends) })
		}
	} else {
		list := trace.List{Channels: s.channels}
		for _, h := range truth.Hosts {
			list.Hosts = append(list.Hosts, h.Name)
		}
		write(listFile, func(w io.Writer) error { return messages.Write(w, &list) })
	}
	write(truthFile, truth.Write)
	for _, name := range names {
		if err == nil {
			err = os.Rename(filepath.Join(work, name), filepath.Join(s.Dir, name))
		}
	}
	return names, err
}

// file writes one file.
func (s *simulation) file(path string, content func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(until{s.ctx, file}, 1<<20)
	err = content(out)
	if flushing := out.Flush(); err == nil {
		err = flushing
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

// writeEnds writes a host's capture: a UDP datagram over IPv4 for each message that it sent or received, in the order in
// which it did, each with a text of its own and marked as sent or received.
func writeEnds(w io.Writer, truth *sim.Truth, hosts map[string]int, name string, ends []end) error {
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	face := pcap.WriterInterface{Name: "eth0", LinkType: linkEthernet}
	for _, e := range ends {
		// Before 1970 a stamp needs an origin before it.
		face.Offset = min(face.Offset, (e.stamp-1e9+1)/1e9)
	}
	out, err := pcap.NewWriter(w, []pcap.WriterInterface{face}, "simulated by meridian: "+name)
	if err != nil {
		return err
	}
	var frame trace.Frame
	for i, e := range ends {
		link := &truth.Links[e.link]
		frame.Number, frame.Time = i, e.stamp
		frame.Data = datagram(frame.Data[:0], hosts[link.From], hosts[link.To], e.message)
		frame.Wire = uint32(len(frame.Data))
		frame.Options = outbound
		if e.received {
			frame.Options = inbound
		}
		if err := out.Write(0, &frame); err != nil {
			return err
		}
	}
	return out.Flush()
}

const (
	linkEthernet = 1
	port         = 20260 // of both sides; nothing uses it
)

// epb_flags (pcapng, section 4.3.1): which way the packet went.
var (
	inbound  = []byte{2, 0, 4, 0, 1, 0, 0, 0}
	outbound = []byte{2, 0, 4, 0, 2, 0, 0, 0}
)

// datagram appends the frame of a message, of the least length that Ethernet has.
func datagram(b []byte, from, to int, message uint32) []byte {
	for _, host := range []int{to, from} {
		b = append(b, 2, 0, 0, 0, byte(host>>8), byte(host)) // locally administered
	}
	b = append(b, 0x08, 0x00)
	ip := len(b)
	b = append(b, 0x45, 0, 0, 0)                          // version, length, no service
	b = binary.BigEndian.AppendUint16(b, uint16(message)) // identification
	b = append(b, 0, 0, 64, 17, 0, 0)                     // whole, time to live, UDP
	for _, host := range []int{from, to} {
		b = append(b, 10, 0, byte(host/250), byte(host%250+1))
	}
	udp := len(b)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, port)
	b = append(b, 0, 0, 0, 0) // length, and no checksum, as IPv4 allows
	b = fmt.Appendf(b, "message %010d", message)
	binary.BigEndian.PutUint16(b[ip+2:], uint16(len(b)-ip))
	binary.BigEndian.PutUint16(b[udp+4:], uint16(len(b)-udp))
	sum := uint32(0)
	for i := ip; i < udp; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(b[ip+10:], ^uint16(sum))
	return b
}
