// Package ctf reads and writes the Common Trace Format: CTF 1.8, which LTTng, barectf and Meridian write, and CTF 2,
// which it reads.
//
// In goes a directory: a file metadata, which says how everything else is laid out, and a file for each stream. Out come
// events, merged by time, with the fields that are asked for; or the other way round.
//
//	metadata ---> ParseMetadata ---> Metadata ---> plan: each type compiled twice
//	                                                |   a program: how to get over it
//	                                                |   a maker: how to make values of it
//	                                                v
//	channel0_0 -> packets -> Reader --.
//	channel0_1 -> packets -> Reader ---+-- by time --> Source ---> who asks
//	channel1_0 -> packets -> Reader --'
//
// A stream is packets one behind another, and a packet is events:
//
//	packet:  header            context                            events             padding
//	         magic, UUID,      begin, end, content size,          one behind the
//	         stream class      packet size, sequence number,      other, aligned
//	                           events discarded, cpu_id           as they say
//	event:   header            stream's context  event's context  payload
//	         class, stamp
//
// The fields are of any size and alignment in bits, in either byte order, and those of varying length follow from fields
// before them, so that nothing says how long an event is but its fields. A [Reader] therefore goes over every event, but
// in a few instructions: what has a fixed size is one, LTTng's and most other event headers are two loads, and values are
// made only when somebody calls Values. Files are mapped into memory, texts and bytes are the file's own. A stamp of few
// bits is extended from the one before, and becomes nanoseconds exactly whatever the clock's frequency.
//
// No length, offset or number of a file is believed before it is held against what is there. A packet that cannot be is
// left out, and the next one is found; an event that cannot be decoded takes the rest of its packet with it; what is
// left out, what the tracer says it discarded, and the packets whose sequence numbers are missing are counted, and told
// to the [trace.Warnings] by file and offset. An event of a trace can have 2^17 values at most; what is more is cut, and
// told. A file that is cut short by somebody else in the moment in which a packet of it is read ends the program where
// files are mapped: see dataFile.
//
// A [Trace] and all that is made of it belong to one goroutine.
//
// Cost, on one core of 2026: 30 to 60 million events a second without their fields, 14 to 22 million with six integers
// and their context, 6 times babeltrace2 2.0.4 (internal/ctfspeed measures it); nothing is allocated for an event. A
// trace takes the memory of its metadata, some 2 MB for LTTng's kernel tracer.
//
// The [TextWriter] prints events as babeltrace2 does, line by line, which is how the reader is tested: on traces of
// others, and on what LTTng records. Sources: the specifications of CTF 1.8.3 and CTF 2 (diamon.org/ctf), and LTTng's
// index of packets.
package ctf
