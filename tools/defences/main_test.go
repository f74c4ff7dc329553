package main

import (
	"testing"
)

// TestEveryDefenceStandsInItsFile: one that was moved would not be tried.
func TestEveryDefenceStandsInItsFile(t *testing.T) {
	t.Chdir("../..")
	for _, d := range defences {
		if _, err := d.without(); err != nil {
			t.Error(err)
		}
	}
}
