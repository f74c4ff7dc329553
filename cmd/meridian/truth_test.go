package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/sim"
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
		m := h.ClockMap()
		a.maps[h.Name] = &m
	}
	return a, nil
}

// timeline returns what the clock that a component follows showed at a true instant.
func (a *aligned) timeline(name string, at clock.TimelineTime) (clock.HostTime, error) {
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
			if truth := clock.TimelineTime(truth); truth < low-rounding || truth > high+rounding {
				return fmt.Errorf("%s: frame %d happened at %d, which is not from %d to %d", c.path, i, truth, low, high)
			}
			worst = max(worst, int64(high-m.At(f.stamp)), int64(m.At(f.stamp)-low))
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
	left := make(map[*capture][2][]*seen) // what is still to come, by clock
	for _, c := range a.captures {
		left[c] = c.byClock()
	}
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
		if err := a.checkFrame(left, face.Name, clock.HostTime(info.Timestamp.UnixNano()), data, options.Comments); err != nil {
			return fmt.Errorf("frame %d on interface %s: %w", total+1, face.Name, err)
		}
	}
	for c, frames := range left {
		if n := len(frames[0]) + len(frames[1]); n > 0 {
			return fmt.Errorf("%d frames of %s are missing", n, c.path)
		}
	}
	if in.NInterfaces() != len(a.captures) {
		return fmt.Errorf("%d interfaces for %d hosts", in.NInterfaces(), len(a.captures))
	}
	return nil
}

// byClock returns the frames that each of the capture's clocks stamped.
func (c *capture) byClock() (frames [2][]*seen) {
	for i := range c.frames {
		f, clock := &c.frames[i], 0
		if c.host.two && !f.sent {
			clock = 1
		}
		frames[clock] = append(frames[clock], f)
	}
	return frames
}

// checkFrame takes the frame from those that are left of its host: aligning keeps the order of what one clock stamped, so
// it is the next of one of the clocks.
func (a *aligned) checkFrame(left map[*capture][2][]*seen, host string, stamp clock.HostTime, data []byte, comments []string) error {
	for _, c := range a.captures {
		if c.host.name != host {
			continue
		}
		frames := left[c]
		for way := range frames {
			if len(frames[way]) == 0 || !bytes.Equal(frames[way][0].data, data) {
				continue
			}
			f := frames[way][0]
			frames[way] = frames[way][1:]
			left[c] = frames
			if got := strings.Join(comments, "; "); got != f.comment {
				return fmt.Errorf("its comment is %q, not %q", got, f.comment)
			}
			// The report's corners are rounded to nanoseconds at the corners of all three curves.
			const rounding = 1
			want := a.maps[c.clock(f)].At(f.stamp - clock.HostTime(int64(f.stamp)%c.step))
			if stamp := clock.TimelineTime(stamp); stamp < want-rounding || stamp > want+rounding {
				return fmt.Errorf("it stands at %d, not at %d", stamp, want)
			}
			return nil
		}
		return errors.New("it is not the next of its host")
	}
	return errors.New("there is no such host")
}
