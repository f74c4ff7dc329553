package wire

import (
	"hash/fnv"
	"io"
)

// Weight is how much a server is for something, such as a host or a session: the one of the greatest weight has it (rendezvous hashing). So things
// are spread over servers, and most keep theirs when others come and go.
func Weight(thing, server string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, thing+"\x00"+server)
	x := h.Sum64() // its low bits are good, its high ones are not for names that differ at the end
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
