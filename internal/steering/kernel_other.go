//go:build !linux

package steering

// ReadKernel knows nothing: only Linux has adjtimex.
func ReadKernel() Kernel { return Kernel{} }
