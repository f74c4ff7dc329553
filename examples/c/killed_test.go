package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/internal/testneed"
	"meridian/trace"
)

const killed = `#include "meridian.h"
MERIDIAN_EVENT(shop, sold, (uint64_t, number));
int main(void) {
	if (meridian_start("shop") != 0) return 1;
	for (uint64_t i = 0; i < 1000; i++) MERIDIAN_EMIT(sold, i);
	kill(getpid(), SIGKILL);
}
`

// TestOneCommandMakesATraceOfWhatAKilledProgramLeft is "After a crash" of docs/sensors.md.
func TestOneCommandMakesATraceOfWhatAKilledProgramLeft(t *testing.T) {
	testneed.Long(t, "compiles C")
	cc, err := compiler()
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	dir := t.TempDir()
	rings, shop, meridian := filepath.Join(dir, "rings"), filepath.Join(dir, "shop"), filepath.Join(dir, "meridian")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, env []string, name string, args ...string) ([]byte, error) {
		c := exec.Command(name, args...)
		c.Stdin, c.Env = strings.NewReader(stdin), append(os.Environ(), env...)
		return c.CombinedOutput()
	}
	if out, err := run(killed, nil, cc, "-O2", "-pthread", "-I", filepath.Join("..", "..", "sensor", "c"), "-x", "c", "-", "-o", shop); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// go run keeps what it links.
	if out, err := run("", nil, "go", "run", "-exec", "cp", "meridian/cmd/meridian", meridian); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("", []string{"MERIDIAN_EVENTS=", "MERIDIAN=" + rings}, shop); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("%v\n%s", err, out)
	}
	into := filepath.Join(dir, "trace")
	if out, err := run("", nil, meridian, "record", "-o", into, "--rings", rings, "--program", "shop", "--", "true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(rings); err != nil || len(left) > 0 {
		t.Errorf("%v are still there: %v", left, err)
	}
	sold := int64(0)
	_, warnings := ctftest.Each(t, into, func(e *trace.Event, events *ctf.Source) {
		if events.Classes()[e.Class].Name != "shop:sold" {
			return
		}
		if n := int64(events.Values()[0].Uint()); n != sold {
			t.Fatalf("%d follows %d events", n, sold)
		}
		sold++
	})
	if sold != 1000 || len(warnings) > 0 {
		t.Errorf("%d events of 1000; %q", sold, warnings)
	}
}
