package main

import (
	"os/exec"
	"strings"
	"testing"
)

func TestMistakesOfBothSetsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: builds the program")
	}
	out, err := exec.Command("go", "run", ".", "./testdata/wrong").CombinedOutput()
	if err == nil {
		t.Error("the exit code is 0")
	}
	for _, want := range []string{"passes lock by value", "(copylocks)", "(SA4000)", "(U1000)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}
