package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/internal/collect/trust"
	"meridian/internal/filetest"
)

// A full disk must not leave half of a directory of keys: the next start would use it.
func TestKeysOnAFullDiskAreAllThereOrNone(t *testing.T) {
	filetest.Filling(t, func(dir string) bool {
		made, err := trust.Init(dir, trust.Options{Names: []string{"a"}, Now: time.Now()})
		if err != nil {
			if left := filetest.Names(t, dir); len(left) > 0 {
				t.Errorf("%v: %q is left", err, left)
			}
			return false
		}
		if _, err := made.TLS(); err != nil {
			t.Error(err)
		}
		if users, err := made.Users(); err != nil || len(users) != 2 {
			t.Errorf("%v, %v", users, err)
		}
		return true
	})
}

// An invitation that cannot be noted, or a list that cannot be written, changes nothing; nor does a certificate that finds no room.
func TestAFullDiskTakesNobodysKey(t *testing.T) {
	filetest.Filling(t, func(dir string) bool {
		made, err := trust.Init(dir, trust.Options{Names: []string{"a"}, Now: time.Now()})
		if err != nil {
			return false
		}
		before, err := made.Users()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "invitation") // on another disk
		invited := made.Invite("web", nil, trust.NewFile(file))
		after, err := made.Users()
		if _, stat := os.Stat(file); err != nil || (stat == nil) != (invited == nil) || slices.Equal(before, after) != (invited != nil) {
			t.Errorf("invited: %v; users %v, %v; the invitation: %v", invited, after, err, stat)
		}
		renewed := made.Renew(trust.Options{Now: time.Now()})
		if _, err := made.TLS(); err != nil {
			t.Errorf("renewed: %v, and then %v", renewed, err)
		}
		if now, err := made.Users(); err != nil || !slices.Equal(now, after) {
			t.Errorf("users %v, %v", now, err)
		}
		return invited == nil && renewed == nil
	})
}
