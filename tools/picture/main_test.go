package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheRoundsThatBeganFastestAreShown(t *testing.T) {
	table := filepath.Join(t.TempDir(), "events.csv")
	const text = "time,time_ns,event,phase\n-,1000,other,\n-,1100,example:round,begin\n-,1150,example:round,end\n-,1500,example:round,begin\n" +
		"-,1600,example:round,begin\n-,1750,example:round,begin\n-,2000,example:round,begin\n"
	if err := os.WriteFile(table, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if from, end, err := fastest(table, 2); err != nil || from != 500 || end != 750 {
		t.Errorf("from %d to %d, %v", from, end, err)
	}
	if _, _, err := fastest(table, 5); err == nil {
		t.Error("five rounds need a sixth that ends them")
	}
}
