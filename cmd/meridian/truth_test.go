package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/clock"
	"meridian/show"
	"meridian/sim"
)

// aligned is a report held against the world whose captures it is of.
type aligned struct {
	*world
	*show.Report
	maps map[string]*clock.Map
}

func (w *world) aligned(path string) (*aligned, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	report, err := show.ReadReport(file)
	if err != nil {
		return nil, err
	}
	a := &aligned{world: w, Report: report, maps: make(map[string]*clock.Map)}
	for _, h := range report.Hosts {
		a.maps[h.Name] = mapOf(h.Map)
	}
	return a, nil
}

// mapOf returns the map whose corners the report lists.
func mapOf(knots []show.Knot) *clock.Map {
	var m clock.Map
	for _, k := range knots {
		m.Mid = append(m.Mid, clock.Knot{Host: k.HostNs, Timeline: k.TimelineNs})
		if k.LowNs != nil {
			m.Low = append(m.Low, clock.Knot{Host: k.HostNs, Timeline: *k.LowNs})
		}
		if k.HighNs != nil {
			m.High = append(m.High, clock.Knot{Host: k.HostNs, Timeline: *k.HighNs})
		}
	}
	return &m
}

// timeline returns what the clock that a component follows showed at a true instant.
func (a *aligned) timeline(name string, at int64) (int64, error) {
	for _, h := range a.Hosts {
		if h.Name == name {
			c, err := a.clock(h.Reference)
			if err != nil {
				return 0, err
			}
			return c.At(at), nil
		}
	}
	return 0, fmt.Errorf("no host %q in the report", name)
}

func (a *aligned) clock(name string) (*sim.Clock, error) {
	for _, h := range a.hosts {
		switch name {
		case h.name:
			return &h.tx, nil
		case h.name + "/rx":
			return &h.rx, nil
		}
	}
	return nil, fmt.Errorf("no clock %q in the world", name)
}

// check holds every frame of every capture against its bounds, and the worst of them against most.
func (a *aligned) check(most time.Duration) error {
	worst := int64(0)
	for _, c := range a.captures {
		for i := range c.frames {
			f := &c.frames[i]
			name := c.clock(f)
			truth, err := a.timeline(name, f.at)
			if err != nil {
				return err
			}
			m := a.maps[name]
			low, high, lowOK, highOK := m.Bounds(f.stamp)
			if !lowOK || !highOK {
				return fmt.Errorf("%s: frame %d is not bounded", c.path, i)
			}
			const rounding = 1 // a clock's reading is the nearest nanosecond
			if truth < low-rounding || truth > high+rounding {
				return fmt.Errorf("%s: frame %d happened at %d, which is not from %d to %d", c.path, i, truth, low, high)
			}
			worst = max(worst, high-m.At(f.stamp), m.At(f.stamp)-low)
		}
	}
	if worst > int64(most) {
		return fmt.Errorf("the worst bound is %v, more than %v", time.Duration(worst), most)
	}
	return nil
}

// checkMerged reads a merged capture with gopacket and holds it against the frames that went in: all are there with their
// bytes and comments, in order of time, at the report's time of the frame, each on its host's interface.
func (a *aligned) checkMerged(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		return err
	}
	next := make(map[string]int) // frames of each host met so far
	total := 0
	for last := time.Unix(0, 0); ; total++ {
		data, info, options, err := in.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if info.Timestamp.Before(last) {
			return fmt.Errorf("frame %d runs back to %v from %v", total+1, info.Timestamp, last)
		}
		last = info.Timestamp
		face, err := in.Interface(info.InterfaceIndex)
		if err != nil {
			return err
		}
		if face.Resolution() != gopacket.TimestampResolutionNanosecond {
			return fmt.Errorf("interface %s has the resolution %v", face.Name, face.Resolution())
		}
		if err := a.checkFrame(face.Name, next[face.Name], info.Timestamp.UnixNano(), data, options.Comments); err != nil {
			return fmt.Errorf("frame %d: %w", total+1, err)
		}
		next[face.Name]++
	}
	for _, c := range a.captures {
		if n := next[c.host.name]; n != len(c.frames) {
			return fmt.Errorf("%d frames of %s, which has %d", n, c.host.name, len(c.frames))
		}
	}
	if in.NInterfaces() != len(a.captures) {
		return fmt.Errorf("%d interfaces for %d hosts", in.NInterfaces(), len(a.captures))
	}
	return nil
}

// checkFrame compares the nth frame of a host's interface with the nth that the host captured: aligning keeps their order.
func (a *aligned) checkFrame(name string, n int, stamp int64, data []byte, comments []string) error {
	for _, c := range a.captures {
		if c.host.name != name {
			continue
		}
		if n >= len(c.frames) {
			return fmt.Errorf("%s has only %d frames", name, len(c.frames))
		}
		f := &c.frames[n]
		if !bytes.Equal(f.data, data) {
			return fmt.Errorf("%s: its frame %d is another", name, n+1)
		}
		var comment string
		if len(comments) > 0 {
			comment = comments[0]
		}
		if comment != f.comment || len(comments) > 1 {
			return fmt.Errorf("%s: its frame %d has the comments %q, not %q", name, n+1, comments, f.comment)
		}
		written := f.stamp - f.stamp%c.step
		// The report's corners are rounded to nanoseconds, all of them to one set of places.
		if want := a.maps[c.clock(f)].At(written); stamp < want-1 || stamp > want+1 {
			return fmt.Errorf("%s: its frame %d stands at %d, not at %d", name, n+1, stamp, want)
		}
		return nil
	}
	return fmt.Errorf("interface %q is of no host", name)
}
