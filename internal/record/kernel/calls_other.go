//go:build !amd64 && !arm64

package kernel

// callNames is empty: the numbers of this machine's system calls are not known here.
var callNames []string
