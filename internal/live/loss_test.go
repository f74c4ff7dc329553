package live

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/trace"
)

// packetMagic begins each packet of a trace of CTF.
var packetMagic = []byte{0xC1, 0x1F, 0xFC, 0xC1}

// packetsOf returns where the packets begin in the one stream of a trace, and the file.
func packetsOf(t *testing.T, dir string) (path string, data []byte, at []int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "metadata" || e.IsDir() {
			continue
		}
		path = filepath.Join(dir, e.Name())
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		next := bytes.Index(data[i:], packetMagic)
		if next < 0 {
			return path, data, at
		}
		i += next
		at = append(at, i)
	}
}

// TestPacketsThatATraceLacksAreCountedAsPackets follows traces with packets that are damaged, and with packets that are not there.
func TestPacketsThatATraceLacksAreCountedAsPackets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm    func(data []byte, at []int) []byte
		want    Loss
		reasons []string
	}{
		"whole": {func(data []byte, _ []int) []byte { return data }, Loss{}, nil},
		"one is damaged": {func(data []byte, at []int) []byte {
			copy(data[at[1]:], "XXXX")
			return data
		}, Loss{Damaged: 1}, []string{"1 packet is damaged and was left out"}},
		"two are damaged": {func(data []byte, at []int) []byte {
			copy(data[at[1]:], "XXXX")
			copy(data[at[4]:], "XXXX")
			return data
		}, Loss{Damaged: 2}, []string{"2 packets are damaged and were left out"}},
		"three are missing": {func(data []byte, at []int) []byte {
			return append(data[:at[1]:at[1]], data[at[4]:]...)
		}, Loss{Missing: 3}, []string{"3 packets are missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := talk(1, 7)
			dir := hosts[0].write(t, t.TempDir())
			path, data, at := packetsOf(t, dir)
			if len(at) < 6 {
				t.Fatalf("%d packets", len(at))
			}
			if err := os.WriteFile(path, c.harm(data, at), 0o644); err != nil {
				t.Fatal(err)
			}
			now := time.Unix(5, 0)
			s, err := New(Options{Inputs: []Input{{Host: "a", Dir: dir}}, Now: func() time.Time { return now }}, new(trace.Warnings))
			if err != nil {
				t.Fatal(err)
			}
			s.To(&collector{s: s})
			if err := s.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			o := s.Outcome()
			if o.Lost != c.want || !slices.Equal(o.Lost.Reasons(), c.reasons) {
				t.Errorf("lost %+v, told as %q", o.Lost, o.Lost.Reasons())
			}
			if hosts := s.Hosts(); len(hosts) != 1 || hosts[0].Lost != c.want.Sum() {
				t.Errorf("hosts %+v", hosts)
			}
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
