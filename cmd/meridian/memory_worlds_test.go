package main_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/encapsulation"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/scratch"
	"meridian/internal/spill"
)

// TestWhatLiesInFilesGivesTheSameBytes makes random worlds, does to their captures what networks and hosts do, and runs them with all arrays
// in memory and with all in files.
func TestWhatLiesInFilesGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	checkWorlds(t, func(r *rapid.T, w *world, description, directory string) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		for _, c := range w.captures {
			spoil(r, random, c)
			if err := c.write(filepath.Join(directory, c.path), true, false); err != nil {
				r.Fatal(err)
			}
		}
		method := rapid.SampledFrom([]string{"envelope", "hull", "hull", "hull"}).Draw(r, "method") // the first takes most of the time
		outputs := [2]string{filepath.Join(directory, "memory"), filepath.Join(directory, "files")}
		for i, to := range outputs {
			if err := alignInto(r.Context(), w, directory, to, method, i == 1); err != nil {
				r.Fatalf("%s: %v in\n%s", to, err, description)
			}
		}
		for _, name := range []string{"report.json", "merged.pcapng", "events.csv"} {
			want, err := os.ReadFile(filepath.Join(outputs[0], name))
			if err != nil {
				r.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(outputs[1], name))
			if err != nil {
				r.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				r.Errorf("%s differs: %d bytes with arrays in files, %d in memory, in\n%s", name, len(got), len(want), description)
			}
		}
	})
}

// alignInto aligns a world's captures and writes all kinds of output into a directory that it makes.
func alignInto(ctx context.Context, w *world, directory, to, method string, spilled bool) (err error) {
	var arguments, outputs []string
	for _, c := range w.captures {
		arguments = append(arguments, filepath.Join(directory, c.path))
	}
	for _, name := range []string{"report.json", "merged.pcapng", "events.csv"} {
		outputs = append(outputs, filepath.Join(to, name))
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	inputs, err := input.Parse(arguments)
	if err != nil {
		return err
	}
	o := pipeline.Options{Outputs: outputs}
	o.Align.Method = method
	if spilled {
		dir := scratch.New(directory)
		memory := spill.New(dir, 0, func(error) {})
		o.Match.Memory, o.Match.Dropped = memory, memory.Drop
		defer func() {
			if memory.Spilled() == 0 {
				err = errors.New("nothing was put into files")
			}
			err = errors.Join(err, memory.Err(), memory.Close(), dir.Close())
		}()
	}
	_, err = pipeline.Run(ctx, inputs, o)
	return err
}

// spoil changes what a capture holds: frames are lost, seen twice, late, joined by the host (TSO, GRO) or in tunnels, and the clock is set.
func spoil(r *rapid.T, random *rand.Rand, c *capture) {
	lost := rapid.SampledFrom([]float64{0, 0, 0.02, 0.3}).Draw(r, "lost of "+c.path)
	again := rapid.SampledFrom([]float64{0, 0, 0.1}).Draw(r, "twice of "+c.path)
	late := rapid.SampledFrom([]float64{0, 0.1}).Draw(r, "late of "+c.path)
	joined := rapid.SampledFrom([]float64{0, 0.5}).Draw(r, "joined of "+c.path)
	tunnel := rapid.SampledFrom([]float64{0, 0, 0.5, 1}).Draw(r, "in tunnels of "+c.path)
	set := rapid.SampledFrom([]time.Duration{0, 0, 0, -3 * time.Second, -time.Hour, 20 * time.Second}).Draw(r, "set "+c.path)
	var frames []seen
	for i, f := range c.frames {
		if set != 0 && i >= len(c.frames)/2 {
			f.stamp += clock.HostTime(set)
		}
		if random.Float64() < lost {
			continue
		}
		if n := len(frames); n > 0 && random.Float64() < joined {
			if both := join(frames[n-1].data, f.data); both != nil {
				frames[n-1].data = both
				continue
			}
		}
		frames = append(frames, f)
		if random.Float64() < again {
			frames = append(frames, f)
		}
		if n := len(frames); n > 1 && random.Float64() < late {
			frames[n-1], frames[n-2] = frames[n-2], frames[n-1]
		}
	}
	if tunnel > 0 {
		carrier := rapid.SampledFrom(ethernetCarriers()).Draw(r, "tunnel of "+c.path)
		for i := range frames {
			if f := &frames[i]; random.Float64() < tunnel {
				f.data = carrier.Frame(encapsulation.Packet{IP: f.data[ethernetHeader:], Way: way(f.sent)})
			}
		}
	}
	c.frames = frames
}

const (
	ethernetHeader = 14
	ethernetLink   = 1
)

func way(sent bool) int {
	if sent {
		return 0
	}
	return 1
}

// ethernetCarriers are the ways to carry packets on Ethernet.
func ethernetCarriers() []encapsulation.Encapsulation {
	return slices.DeleteFunc(encapsulation.All(), func(e encapsulation.Encapsulation) bool { return e.Link != ethernetLink })
}

// join returns the frame that a host makes of two TCP segments that follow one another; nil if they do not.
func join(a, b []byte) []byte {
	const ip, tcp = ethernetHeader, ethernetHeader + 20
	if len(a) < tcp+20 || len(b) < tcp+20 || a[ip+9] != 6 || !bytes.Equal(a[ip+12:tcp+4], b[ip+12:tcp+4]) {
		return nil
	}
	from, behind := tcp+int(a[tcp+12]>>4)*4, tcp+int(b[tcp+12]>>4)*4
	first, next := binary.BigEndian.Uint32(a[tcp+4:]), binary.BigEndian.Uint32(b[tcp+4:])
	if len(a) == from || len(b) == behind || first+uint32(len(a)-from) != next {
		return nil
	}
	both := append(slices.Clone(a), b[behind:]...)
	binary.BigEndian.PutUint16(both[ip+2:], uint16(len(both)-ip))
	return both
}
