package trace

import "meridian/clock"

// BlockKind says what a [FileBlock] holds.
type BlockKind uint8

const (
	SecretsBlock    BlockKind = iota // keys with which a dissector decrypts packets
	NamesBlock                       // names of addresses
	CustomBlock                      // another program's block, which may be copied
	StatisticsBlock                  // counts of an interface at an instant
)

// FileBlock is a block of a capture file beside packets and descriptions of interfaces. It tells nothing of the clocks.
// Captures that are written again keep it.
type FileBlock struct {
	Kind BlockKind
	// Packets is the number of packets of the file before the block.
	Packets int
	// Data is the body of the block as pcapng has it, little-endian; of statistics the list of options alone, without
	// its end.
	Data []byte

	// Of statistics:
	Interface    int            // index in [Capture.Interfaces]
	Time         clock.HostTime // when the interface had the counts
	Began, Ended clock.HostTime // of the capture on the interface; 0 where the file does not say
}
