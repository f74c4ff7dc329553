package testseed

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// draws runs TestDraws in a process of its own and returns its output.
func draws(t *testing.T, seed string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"-test.run=^TestDraws$", "-test.v"}, args...)...)
	c.Env = append(os.Environ(), Variable+"="+seed, "DRAW=1")
	out, err := c.CombinedOutput()
	return string(out), err
}

// drawn returns the lines with what was drawn.
func drawn(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if _, draw, found := strings.Cut(line, "drew "); found {
			lines = append(lines, draw)
		}
	}
	return strings.Join(lines, "")
}

// TestDraws is for the tests below: it draws by each of the three ways.
func TestDraws(t *testing.T) {
	if os.Getenv("DRAW") == "" {
		return
	}
	t.Log("drew", New(t).Uint64())
	n := 0
	Check(t, func(r *rapid.T) {
		n++
		if number := rapid.Uint64().Draw(r, "number"); n == 50 {
			t.Log("drew", number)
		}
	})
	if os.Getenv("DRAW") == "fail" {
		t.Fail()
	}
}

func TestOneSeedDrawsTheSameEachTime(t *testing.T) {
	first, err := draws(t, "")
	if err != nil || strings.Count(drawn(first), "\n") != 2 {
		t.Fatalf("%v: %s", err, first)
	}
	for _, test := range []struct {
		seed string
		same bool
	}{{"", true}, {fmt.Sprint(Default), true}, {"2", false}} {
		again, err := draws(t, test.seed)
		if err != nil || (drawn(again) == drawn(first)) != test.same {
			t.Errorf("seed %q: %v: %s, at first %s", test.seed, err, again, first)
		}
	}
}

func TestRapidsOwnFlagWins(t *testing.T) {
	first, err := draws(t, "", "-rapid.seed=7")
	if err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	second, err := draws(t, "2", "-rapid.seed=7")
	last := func(out string) string { return out[strings.LastIndex(strings.TrimSuffix(out, "\n"), "\n")+1:] }
	if err != nil || last(drawn(first)) != last(drawn(second)) {
		t.Errorf("%v: %s, at first %s", err, second, first)
	}
}

func TestAFailureNamesTheCommandThatRepeatsIt(t *testing.T) {
	t.Setenv("DRAW", "fail")
	c := exec.Command(os.Args[0], "-test.run=^TestDraws$")
	c.Env = append(os.Environ(), Variable+"=42")
	out, err := c.CombinedOutput()
	if want := "MERIDIAN_SEED=42 go test -count=1 -run '^TestDraws$' ."; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: no %q in %s", err, want, out)
	}
}

func TestASeedThatIsNoNumberIsRefused(t *testing.T) {
	for _, seed := range []string{"0", "-1", "one"} {
		out, err := draws(t, seed)
		if err == nil || !strings.Contains(out, "is not a positive integer") {
			t.Errorf("%s: %v: %s", seed, err, out)
		}
	}
}

func TestSubtestsAreRepeatedByTheirNames(t *testing.T) {
	if got, want := Command("TestA/b (c)"), "'^TestA$/^b \\(c\\)$'"; !strings.Contains(got, want) {
		t.Errorf("%s has no %s", got, want)
	}
}

func TestTheFlagOfRapidIsSet(t *testing.T) {
	if got := flag.Lookup("rapid.seed").Value.String(); got == "0" {
		t.Error("rapid draws its seeds")
	}
}
