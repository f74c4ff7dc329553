package pipeline

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testseed"
)

// stamps are the timestamps of a pcapng file that counts nanoseconds, to be changed in place.
type stamps struct {
	file []byte
	at   []int  // of each enhanced packet block: where it begins
	sent []bool // its host sent it
	// wrong are the timestamps, as they stand in the file, that are not those of the clock.
	wrong map[int64]bool
}

const (
	enhancedBlock = 6
	blockTime     = 12 // where the upper half of the timestamp stands in the block
	blockData     = 28
)

// stampsOf reads the capture of the host whose link-layer address ends in a byte.
func stampsOf(t *testing.T, path string, host byte) *stamps {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &stamps{file: file, wrong: make(map[int64]bool)}
	for at := 0; at < len(file); at += s.size(at) {
		if binary.LittleEndian.Uint32(file[at:]) == enhancedBlock {
			s.at = append(s.at, at)
			s.sent = append(s.sent, file[at+blockData+11] == host) // the last byte of the sender's address
		}
	}
	if len(s.at) == 0 {
		t.Fatalf("%s has no packets", path)
	}
	return s
}

func (s *stamps) size(at int) int { return int(binary.LittleEndian.Uint32(s.file[at+4:])) }

func (s *stamps) get(i int) int64 {
	h := s.file[s.at[i]+blockTime:]
	return int64(binary.LittleEndian.Uint32(h))<<32 | int64(binary.LittleEndian.Uint32(h[4:]))
}

// set changes a timestamp, which is wrong then.
func (s *stamps) set(i int, t int64) {
	h := s.file[s.at[i]+blockTime:]
	binary.LittleEndian.PutUint32(h, uint32(t>>32))
	binary.LittleEndian.PutUint32(h[4:], uint32(t))
	s.wrong[t] = true
}

// fileLate moves a packet behind some later ones: it was handed over late, with its right timestamp.
func (s *stamps) fileLate(i, behind int) {
	last := s.at[min(i+behind, len(s.at)-1)]
	from, to := s.at[i], last+s.size(last)
	packet := append([]byte(nil), s.file[from:from+s.size(from)]...)
	copy(s.file[from:], s.file[from+len(packet):to])
	copy(s.file[to-len(packet):], packet)
	s.at = s.at[:0]
	for at := 0; at < len(s.file); at += s.size(at) {
		if binary.LittleEndian.Uint32(s.file[at:]) == enhancedBlock {
			s.at = append(s.at, at)
		}
	}
}

// Of captures with few wrong timestamps, or packets out of order, no bound is silently wrong, and what has no wrong timestamp that others contradict is
// aligned without a broken promise.
func TestWrongTimestampsMakeNoBoundSilentlyWrong(t *testing.T) {
	const ms = 1_000_000
	kinds := []struct {
		name    string
		sound   bool // no promise may be broken
		clocks  int
		without bool // the second clock may be missed
		spoil   func(r *rand.Rand, s *stamps)
	}{
		{name: "nothing", sound: true, clocks: 2, spoil: func(*rand.Rand, *stamps) {}},
		{name: "one late", clocks: 2, spoil: func(r *rand.Rand, s *stamps) {
			i := r.IntN(len(s.at))
			s.set(i, s.get(i)+3*ms+r.Int64N(6*ms))
		}},
		{name: "one early", clocks: 2, spoil: func(r *rand.Rand, s *stamps) {
			i := r.IntN(len(s.at))
			s.set(i, s.get(i)-3*ms-r.Int64N(6*ms))
		}},
		{name: "one in a hundred late", clocks: 2, spoil: func(r *rand.Rand, s *stamps) {
			for i := range s.at {
				if r.IntN(100) == 0 {
					s.set(i, s.get(i)+2*ms+r.Int64N(15*ms))
				}
			}
		}},
		{name: "zeros", sound: true, clocks: 2, spoil: func(r *rand.Rand, s *stamps) {
			s.set(0, 0)
			for i := range s.at {
				if r.IntN(25) == 0 {
					s.set(i, 0)
				}
			}
		}},
		{name: "days away", sound: true, clocks: 2, spoil: func(r *rand.Rand, s *stamps) {
			for range 3 {
				i := r.IntN(len(s.at))
				s.set(i, s.get(i)+(r.Int64N(200)-100)*24*3600*1000*ms+7200*1000*ms)
			}
		}},
		{name: "filed late", sound: true, clocks: 2, spoil: func(r *rand.Rand, s *stamps) {
			for i := len(s.at) - 1; i >= 0; i-- {
				if !s.sent[i] && r.IntN(5) == 0 {
					s.fileLate(i, 1+r.IntN(8))
				}
			}
		}},
		// Nothing but the order of the file tells the offset between the two clocks, and traffic at random leaves it open by milliseconds: so the sender
		// may be unknown, which breaks a promise.
		{name: "two clocks", clocks: 3, without: true, spoil: func(r *rand.Rand, s *stamps) {
			by := []int64{37_000 * ms, -37_000 * ms, 6 * ms, -6 * ms}[r.IntN(4)]
			for i := range s.at {
				if !s.sent[i] {
					s.set(i, s.get(i)+by)
				}
			}
		}},
	}
	worlds := 3
	if testing.Short() {
		worlds = 1
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			r := testseed.New(t)
			for range worlds {
				spoiledWorld(t, r, kind.clocks, kind.without, kind.sound, kind.spoil)
			}
		})
	}
}

func spoiledWorld(t *testing.T, r *rand.Rand, clocks int, without, sound bool, spoil func(*rand.Rand, *stamps)) {
	t.Helper()
	begin := clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	done, inputs := captured(t, sim.Scenario{
		Hosts: 2, Topology: sim.Full, Start: begin, Span: 4 * time.Second, Rate: 40 + 60*r.Float64(), Jitter: 60 * time.Microsecond,
		MinDelay: [2]time.Duration{60 * time.Microsecond, 90 * time.Microsecond}, MaxOffset: 5 * time.Second, MaxSkewPPM: 50, Seed: r.Uint64(),
	})
	host := r.IntN(2)
	s := stampsOf(t, inputs[host].Path, byte(host))
	spoil(r, s)
	if err := os.WriteFile(inputs[host].Path, s.file, 0o600); err != nil {
		t.Fatal(err)
	}
	// The timeline is the clock of the host whose timestamps are sound.
	o := Options{}
	o.Align.Reference = done.Truth.Hosts[1-host].Name
	rows, outcome := csvRows(t, inputs, o)
	if sound && len(outcome.Broken) > 0 {
		t.Errorf("%q, warnings %q", outcome.Broken, outcome.Warnings)
	}
	if n := len(outcome.Report.Hosts); n != clocks && !(without && n == clocks-1) {
		t.Errorf("%d clocks, want %d; warnings %q", n, clocks, outcome.Warnings)
	}
	spoiled, other := &done.Truth.Hosts[host], &done.Truth.Hosts[1-host]
	back := other.Clock.Inverse()
	bounded, outside := 0, 0
	for _, row := range rows {
		recorded := number(t, row["recorded_ns"])
		if row["event"] != "packet" || row["host"] != spoiled.Name || row["low_ns"] == "" || s.wrong[recorded] {
			continue
		}
		bounded++
		truth := int64(back.At(spoiled.Clock.At(clock.HostTime(recorded), clock.Nearest), clock.Nearest))
		if truth < number(t, row["low_ns"])-3 || truth > number(t, row["high_ns"])+3 {
			outside++
		}
	}
	if len(outcome.Broken) == 0 && (outside > 0 || bounded == 0) {
		t.Errorf("%d of %d events outside of their bounds, and no promise is broken; warnings %q", outside, bounded, outcome.Warnings)
	}
}
