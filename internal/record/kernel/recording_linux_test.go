package kernel_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/netlab"
	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
	"meridian/trace"
)

// open opens a recorder, or ends the test where the machine cannot record kernel events.
func open(t *testing.T, o kernel.Options) *kerneltest.Recording {
	t.Helper()
	r, err := kernel.Open(o, new(trace.Warnings))
	var u *kernel.Unavailable
	if errors.As(err, &u) {
		testneed.Missing(t, "%v", u)
	}
	if err != nil {
		t.Fatal(err)
	}
	return kerneltest.New(t, r)
}

// record opens a recorder and reads it.
func record(t *testing.T, o kernel.Options) *kerneltest.Recording {
	t.Helper()
	rec := open(t, o)
	rec.Read(context.Background())
	return rec
}

// netns returns the inode of a host's network namespace.
func netns(t *testing.T, lab *netlab.Lab, host string) uint32 {
	t.Helper()
	out, err := lab.Command(host, "stat", "-Lc", "%i", "/proc/self/ns/net").Output()
	n, bad := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 32)
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}
