package kernel

import (
	"encoding/binary"

	"meridian/internal/record/internal/proc"
)

// commPattern returns Options.Command as the programs compare it with the 16 bytes of a thread's comm, in two words: comm
// matches where comm & mask == want. A whole name includes the NUL after it. Without a command the mask is 0.
func commPattern(command string) (mask, want [2]uint64, err error) {
	p, err := proc.ParseNamePattern(command)
	if err != nil || command == "" {
		return mask, want, err
	}
	var maskBytes, wantBytes [16]byte
	count := copy(wantBytes[:], p.Name)
	if !p.Prefix {
		count++
	}
	for i := range count {
		maskBytes[i] = 0xff
	}
	for i := range 2 {
		mask[i], want[i] = binary.LittleEndian.Uint64(maskBytes[8*i:]), binary.LittleEndian.Uint64(wantBytes[8*i:])
	}
	return mask, want, nil
}
