//go:build !linux

package dirlock

// Holders returns the processes of which one has locked a directory: these systems do not tell.
func Holders(string) []int { return nil }
