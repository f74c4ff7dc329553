//go:build unix

package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"meridian/format/pcap"
	"meridian/internal/pipeline/input"
	"meridian/internal/record"
)

// recordedWithPackets makes the trace of a recorder of a host, with captures that are empty but for their heads.
func recordedWithPackets(t *testing.T, dir, host string, captures ...string) {
	t.Helper()
	r, err := record.New(record.Options{Dir: dir, Host: host, Rings: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "packets"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range captures {
		f, err := os.Create(filepath.Join(dir, "packets", name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := pcap.NewWriter(f, nil, "")
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func TestPacketsBesideATraceAreOfItsHost(t *testing.T) {
	root := t.TempDir()
	one, two := filepath.Join(root, "one"), filepath.Join(root, "two")
	recordedWithPackets(t, one, "web", "web.pcapng", "web-2.pcapng")
	recordedWithPackets(t, two, "db", "db.pcapng", ".hidden.pcapng")
	for path, text := range map[string]string{"killed.pcapng": "", ".notes": "x"} {
		if err := os.WriteFile(filepath.Join(one, "packets", path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		argument string
		want     []string
	}{
		{one, []string{"one one", "one one/packets/web-2.pcapng", "one one/packets/web.pcapng"}},
		{"a=" + one, []string{"a one", "a one/packets/web-2.pcapng", "a one/packets/web.pcapng"}},
		{root, []string{"db two", "db two/packets/db.pcapng", "web one", "web one/packets/web-2.pcapng", "web one/packets/web.pcapng"}},
		{"a=" + filepath.Join(two, "packets"), []string{"a two/packets/db.pcapng"}},
	} {
		inputs, err := input.Parse([]string{test.argument})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range inputs {
			path, _ := filepath.Rel(root, in.Path)
			got = append(got, fmt.Sprintf("%s %s", in.Host, path))
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.argument, got, test.want)
		}
	}
	if _, err := input.Parse([]string{one, filepath.Join(one, "packets", "web.pcapng")}); err == nil {
		t.Error("packets beside a trace may be given twice")
	}
}
