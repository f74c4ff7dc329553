//go:build unix

package main

import (
	"flag"
	"os"
	"testing"

	"meridian/internal/testseed"
)

var (
	kills = flag.Int("kills", 150, "writers to kill; readers a quarter of it")
	seed  = flag.Uint64("seed", testseed.First(1), "of the random instants")
)

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		return
	}
	os.Exit(m.Run())
}

func TestKilledWriterLosesNothingThatItPublished(t *testing.T) {
	killed, err := killWriters(*kills, *seed)
	t.Logf("seed %d: %v", *seed, killed)
	if err != nil {
		t.Fatal(err)
	}
	if killed.events == 0 || killed.overwriting == 0 {
		t.Errorf("nothing was tried: %v", killed)
	}
}

func TestKilledReaderLeavesAllToTheNext(t *testing.T) {
	killed, err := killReaders(*kills/4, *seed)
	t.Logf("seed %d: %v", *seed, killed)
	if err != nil {
		t.Fatal(err)
	}
	if killed.events == 0 || killed.again == 0 {
		t.Errorf("nothing was tried: %v", killed)
	}
}
