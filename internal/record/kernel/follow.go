package kernel

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// pattern is a program's name as the kernel compares it: the 16 bytes of its comm, of which those count that mask has.
type pattern struct {
	mask, want [2]uint64
}

// longestName is that of a comm, without the NUL behind it.
const longestName = 15

// patternOf reads Options.Command.
func patternOf(command string) (p pattern, err error) {
	if command == "" {
		return p, nil
	}
	name, isPrefix := strings.CutSuffix(command, "*")
	if name == "" || len(name) > longestName || strings.ContainsAny(name, "*\x00") {
		return p, fmt.Errorf("no program has the name %q: it has 1 to %d bytes, and * only at the end", command, longestName)
	}
	var mask, want [16]byte
	copy(want[:], name)
	count := len(name)
	if !isPrefix {
		count++ // the NUL behind it counts
	}
	for i := range count {
		mask[i] = 0xff
	}
	for i := range 2 {
		p.mask[i], p.want[i] = binary.LittleEndian.Uint64(mask[8*i:]), binary.LittleEndian.Uint64(want[8*i:])
	}
	return p, nil
}

// matches says whether a program has the name. No pattern matches none.
func (p *pattern) matches(comm string) bool {
	var b [16]byte
	copy(b[:longestName], comm)
	return p.mask[0] != 0 && binary.LittleEndian.Uint64(b[:])&p.mask[0] == p.want[0] && binary.LittleEndian.Uint64(b[8:])&p.mask[1] == p.want[1]
}
