package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	headerName      = "meridian.h (C)"
	headerLimitName = "meridian.h (C), its limit"
)

// header is a C program with meridian.h, which has a limit of its own: another compiler's.
func (b *bench) header() error {
	if _, err := exec.LookPath("gcc"); err != nil {
		return absent{"gcc is not installed: no meridian.h"}
	}
	top, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "meridian").Output()
	if err != nil {
		return absent{"no source of Meridian here: no meridian.h; run this in its checkout"}
	}
	source := filepath.Join(strings.TrimSpace(string(top)), "sensor", "c")
	program := filepath.Join(b.dir, "header")
	build := exec.Command("gcc", "-O2", "-pthread", "-I", source, "-o", program, filepath.Join(source, "testdata", "bench.c"))
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	k, ready, err := startChild(exec.Command(program, "serve"))
	if err != nil {
		return err
	}
	b.closing = append(b.closing, k.close)
	if ready != "ready" {
		return fmt.Errorf("%s begins with %q", program, ready)
	}
	const keeps = "all, in shared memory"
	b.outside(headerLimitName, "", k.run("limit"))
	b.outside(headerName, keeps, k.run("six"))
	b.outside("meridian.h (C), two threads", keeps, k.run("two"))
	b.outside("meridian.h (C), disabled", "", k.run("off"))
	b.outside("meridian.h (C), an integer and a string", keeps, k.run("text"))
	return nil
}
