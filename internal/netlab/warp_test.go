//go:build unix

package netlab

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testseed"
)

// captureOf writes a capture file by the format's description.
func captureOf(order binary.AppendByteOrder, magic uint32, unit int64, stamps []clock.HostTime) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, 262144)
	b = order.AppendUint32(b, 1)
	for i, s := range stamps {
		b = order.AppendUint32(b, uint32(int64(s)/1e9))
		b = order.AppendUint32(b, uint32(int64(s)%1e9/unit))
		b = order.AppendUint32(b, uint32(i%7))
		b = order.AppendUint32(b, 1500)
		b = append(b, bytes.Repeat([]byte{byte(i)}, i%7)...)
	}
	return b
}

func TestWarpShowsTheClockAtEachInstantAndKeepsAllElse(t *testing.T) {
	dir := t.TempDir()
	testseed.Check(t, func(t *rapid.T) {
		start := clock.TimelineTime(rapid.Int64Range(1e18, 4e18).Draw(t, "start"))
		wrong := sim.Clock{
			Origin:   start,
			OffsetNs: rapid.Int64Range(-1e11, 1e11).Draw(t, "offset"),
			SkewPPM:  rapid.Float64Range(-200, 200).Draw(t, "skew"),
			Wave:     sim.Wave{AmplitudePPM: 2, Period: time.Second},
		}
		magic, unit := uint32(magicMicros), int64(1000)
		if rapid.Bool().Draw(t, "nanoseconds") {
			magic, unit = magicNanos, 1
		}
		var order binary.AppendByteOrder = binary.LittleEndian
		if rapid.Bool().Draw(t, "big endian") {
			order = binary.BigEndian
		}
		var stamps, shown []clock.HostTime
		for range rapid.IntRange(0, 20).Draw(t, "packets") {
			s := clock.TimelineTime(int64(start+clock.TimelineTime(rapid.Int64Range(0, 1e12).Draw(t, "after"))) / unit * unit)
			stamps, shown = append(stamps, clock.HostTime(s)), append(shown, wrong.At(s))
		}
		source, target := filepath.Join(dir, "source.pcap"), filepath.Join(dir, "target.pcap")
		if err := os.WriteFile(source, captureOf(order, magic, unit, stamps), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Warp(source, target, wrong); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		if want := captureOf(order, magicNanos, 1, shown); !bytes.Equal(got, want) {
			t.Fatalf("got\n%x\nwant\n%x", got, want)
		}
	})
}

func TestWarpRefusesWhatIsNotAWholeCapture(t *testing.T) {
	dir := t.TempDir()
	whole := captureOf(binary.LittleEndian, magicMicros, 1000, []clock.HostTime{1e18, 2e18, 3e18})
	source, target := filepath.Join(dir, "source.pcap"), filepath.Join(dir, "target.pcap")
	for name, b := range map[string][]byte{
		"empty":   {},
		"text":    []byte("this is no capture file at all"),
		"cut":     whole[:len(whole)-1],
		"headers": whole[:fileHeader+10],
	} {
		if err := os.WriteFile(source, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Warp(source, target, sim.Clock{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(target); err == nil {
			t.Errorf("%s: left a file", name)
		}
	}
}
