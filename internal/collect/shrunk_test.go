package collect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

func TestPacketsThatAreCutOffTheHostsFileAreCutOffTheServersToo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir, servers := filepath.Join(t.TempDir(), "trace"), t.TempDir()
	w := newTrace(t, dir, 9)
	l.serve("a", servers, store.OS{})
	s, err := ship.New(ship.Options{Conn: wire.Over(l.connectAs("web")), Host: "web", Session: "s", Dir: dir, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	stop := runs(t, s)
	name := filepath.Join(dir, "sensor_1_0")
	equal := func() {
		t.Helper()
		for until := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(filepath.Join(servers, "s", "web", "sensor_1_0"))
			if bytes.Equal(want, got) {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("the server has %d bytes of a file of %d, or others", len(got), len(want))
			}
		}
	}
	w.write("sensor_1_0", w.packet(1024))
	for range 5 {
		w.write("sensor_1_0", w.packet(2048))
		equal()
		if err := os.Truncate(name, 1024); err != nil {
			t.Fatal(err)
		}
		equal()
		w.write("sensor_1_0", w.packet(4096))
		equal()
		if err := os.Truncate(name, 1024); err != nil {
			t.Fatal(err)
		}
		equal()
	}
	if sum := stop(); sum.Acknowledged > sum.Recorded || sum.Lost > 0 {
		t.Errorf("%+v", sum)
	}
}
