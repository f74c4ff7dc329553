package ctf

import (
	"testing"

	"meridian/internal/testneed"
)

// peer returns the path of another tool. Where the tests guard a release, its absence is a failure.
func peer(t testing.TB, name string) string {
	t.Helper()
	path := testneed.Program(t, name)
	return path
}
