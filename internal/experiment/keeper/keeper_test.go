package keeper

import (
	"os"
	"testing"
)

// TestDirectoriesOfAKilledKeeperAreRemoved removes those of one keeper and no others.
func TestDirectoriesOfAKilledKeeperAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := makeDirectories("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Remove()
	there := func() (n int) {
		for _, dir := range []string{d.Work, d.Rings} {
			if _, err := os.Stat(dir); err == nil {
				n++
			}
		}
		return n
	}
	if err := RemoveOf(os.Getpid() * 10); err != nil || there() != 2 {
		t.Errorf("those of another: %v, %d of 2 are there", err, there())
	}
	if err := RemoveOf(os.Getpid()); err != nil || there() != 0 {
		t.Errorf("%v, %d are left", err, there())
	}
}
