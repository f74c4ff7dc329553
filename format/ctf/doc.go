// Package ctf reads and writes the Common Trace Format: CTF 1.8, which LTTng, barectf and Meridian write, and CTF 2,
// which it only reads.
//
// The input is a trace: a directory with a file metadata, which declares the layout of everything else, and a file for
// each data stream. The output are its event records, merged by time, with the fields that the caller asks for. A
// [Writer] goes the other way.
//
//	metadata ---> ParseMetadata ---> Metadata ---> plan: each field class compiled into
//	                                                |   a program that skips the field
//	                                                |   a decoder of its values
//	                                                v
//	channel0_0 -> packets -> Reader --.
//	channel0_1 -> packets -> Reader ---+-- by time --> Source ---> caller
//	channel1_0 -> packets -> Reader --'
//
// A data stream is a sequence of packets, and a packet is a sequence of event records:
//
//	packet:  header            context                            events             padding
//	         magic, UUID,      begin, end, content size,          one after the
//	         stream class      packet size, sequence number,      other, aligned
//	                           events discarded, cpu_id           as declared
//	event:   header            common context   specific context  payload
//	         class, stamp
//
// Fields have any size and alignment in bits, in either byte order. The length of some follows from earlier fields, so
// nothing but its fields tells how long an event is. A [Reader] therefore visits every event, but in a few instructions: a
// run of fixed-size fields is one, LTTng's and most other event headers are two loads, and Values alone decodes values.
// Files are read into buffers; texts and bytes point into them. A stamp of few bits is extended from the previous
// one, and its conversion to nanoseconds is exact for any clock frequency.
//
// # Damage
//
// Every length, offset and number of a file is checked against the data. An invalid packet is skipped, and the next one is
// found; an event that cannot be decoded takes the rest of its packet with it. Skipped packets, events that the tracer
// discarded, and packets missing by their sequence numbers are counted in [Tally] and reported to [trace.Warnings] by file
// and offset. An event has at most 2^17 values; further array elements are dropped and reported. A file that is
// truncated while it is read ends there, with a warning; what is appended after it was opened is not read.
//
// # Traces that grow
//
// A [Follower] reads a directory while a tracer writes it. It gives a [Reader] only whole packets: the headers behind those that were
// read are parsed ahead, and a packet that is not whole waits until it is. New metadata is compiled into a new plan, which a reader
// takes between two packets, or when it misses a class. A [Position] names a packet and how many of its events were returned.
//
// # Memory and concurrency
//
// A [Trace] and what is made from it belong to one goroutine, but for the readers of [Stream.Reader]: a goroutine may have each.
// They share the compiled metadata, which does not change, and the warnings. So a caller that needs no order between
// streams reads them side by side. A [Source] reads in one goroutine: to hand decoded events over costs more than
// it saves (docs/benchmarks.md). Values belong to their Reader until its next event, and
// are invalid after [Trace.Close].
//
// Cost, on one core of 2026: 30 to 60 million events a second without their fields, 14 to 22 million with six integers
// and their context, 6 times babeltrace2 2.0.4 (tools/ctfspeed measures it). Nothing is allocated for an event. A
// trace takes the memory of its metadata, some 2 MB for LTTng's kernel tracer.
//
// The [TextWriter] prints events as babeltrace2 does, line by line. That is how the reader is tested: on traces of other
// tracers, and on what LTTng records. Sources: the specifications of CTF 1.8.3 and CTF 2 (diamon.org/ctf), and LTTng's
// index of packets.
package ctf
