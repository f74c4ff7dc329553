package ring

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"meridian/sensor/tsdl"
)

func TestLookSaysWhatOpenSaysAndTakesNothing(t *testing.T) {
	w := made(t, Options{Program: "web", Overwrite: true, Clock: Clock{Kind: 4, Frequency: 1e9}})
	class := registered(t, w, "step")
	emit(w.Shard(0), class.ID, 30, 1)
	before, err := Look(w.Path())
	if err != nil || before.Program != "web" || before.PID != os.Getpid() {
		t.Fatalf("%+v, %v", before, err)
	}
	if n := binary.LittleEndian.Uint32(w.mem[atReader:]); n != 0 {
		t.Errorf("the ring has a reader: %d", n)
	}
	r := opened(t, w.Path())
	for what, info := range map[string]Info{"before there is a reader": before, "beside a reader": look(t, w.Path())} {
		if !reflect.DeepEqual(info, r.Info()) {
			t.Errorf("%s: %+v, and Open says %+v", what, info, r.Info())
		}
	}
	if n := binary.LittleEndian.Uint32(w.mem[atReader:]); n != 1 {
		t.Errorf("the ring's reader is gone: %d", n)
	}
	var p Packet
	if ok, err := r.Next(&p); !ok || err != nil || p.Count != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Look(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	binary.LittleEndian.PutUint32(w.mem[atState:], 0)
	if _, err := Look(w.Path()); !errors.Is(err, ErrUnready) {
		t.Error(err)
	}
}

func look(t *testing.T, path string) Info {
	t.Helper()
	info, err := Look(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestARingOfAnotherStartOfTheMachineIsFromElsewhere(t *testing.T) {
	w := made(t, Options{})
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skipf("cannot read the identifier of this boot: %v; it needs Linux with /proc mounted", err)
	}
	info := look(t, w.Path())
	if got := tsdl.UUID(info.Boot); got != strings.TrimSpace(string(text)) || info.Elsewhere() {
		t.Errorf("start %s, the system says %s; elsewhere: %v", got, text, info.Elsewhere())
	}
	w.mem[atBoot]++
	if r := opened(t, w.Path()); !look(t, w.Path()).Elsewhere() || r.Alive() {
		t.Error("a ring of another start of the machine is of this one, or a process of it lives")
	}
	clear(w.mem[atBoot : atBoot+16])
	if look(t, w.Path()).Elsewhere() {
		t.Error("an older writer's ring is from elsewhere")
	}
}

// Old writers leave it 0, and old readers do not look: the version is the same.
func TestAHeaderNamesTheNetworkNamespace(t *testing.T) {
	w := made(t, Options{})
	if runtime.GOOS == "linux" {
		here, err := os.Stat("/proc/self/ns/net")
		if err != nil {
			t.Skipf("cannot find the network namespace: %v; it needs Linux with /proc mounted", err)
		}
		if want := reflect.Indirect(reflect.ValueOf(here.Sys())).FieldByName("Ino").Uint(); look(t, w.Path()).Network != want || want == 0 {
			t.Errorf("namespace %d, the system says %d", look(t, w.Path()).Network, want)
		}
	}
	clear(w.mem[atNetwork:headerSize])
	if n := look(t, w.Path()).Network; n != 0 {
		t.Errorf("of an older ring's namespace %d is known", n)
	}
	for i := range w.mem[atNetwork:headerSize] {
		w.mem[atNetwork+i] = 0xff // whatever it says, it is a number
	}
	if n := opened(t, w.Path()).Info().Network; n != 1<<64-1 {
		t.Errorf("namespace %d", n)
	}
}
