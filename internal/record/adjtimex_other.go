//go:build !linux

package record

import "meridian/internal/steering"

// kernelState: only Linux has adjtimex.
func kernelState() steering.Kernel { return steering.Kernel{} }

func suspended() int64 { return 0 }
