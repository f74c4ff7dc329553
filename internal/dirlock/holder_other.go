//go:build !linux

package dirlock

// Holder returns the process that has locked a directory: these systems do not tell.
func Holder(string) (pid int, known bool) { return 0, false }
