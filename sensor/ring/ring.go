// Package ring is a ring buffer for events in shared memory: a file, usually under /dev/shm, that one process writes and a reader
// in the same process or another empties. The file survives the death of either.
//
//	writer: Create --> Register classes --> Shard.Reserve, fill, Commit     one writer for each shard, no lock, no system call
//	reader: Open ----> Classes, Metadata --> Next, Commit                   one reader at a time, told by a lock on the file
//	        Subscribe --------------------> Next                            any number, of a ring in overwrite mode
//
// An event costs the writer two stores besides its own bytes. Entering the next sub-buffer costs one load that another
// processor may have changed, and the first time a system call for the pages.
//
// # The file, version 1
//
// All numbers are little-endian. Offsets and sizes are bytes. The file is made at its full size, sparse: pages that
// were never written cost nothing. Each part begins at a multiple of 4096.
//
//	0                header, 4096 bytes
//	4096             classes: ClassCapacity records of 256 bytes
//	 ...             metadata: text, MetadataCapacity bytes; only ever appended to
//	 ...             shards: ShardCount control blocks of 256 bytes
//	 ...             data: ShardCount times BufferCount sub-buffers of BufferSize bytes, at a multiple of 4096
//
//	header
//	  0  8  magic "MERIDIAN"            64  8  clock frequency, Hz
//	  8  4  version, 1                  72  8  clock origin: ns since 1970 when the counter was 0, as int64
//	 12  4  header size, 4096           80  8  error of the frequency, in 10^-12 of it
//	 16  8  size of the file            88  4  number of classes (atomic)
//	 24  4  ShardCount                  92  4  ClassCapacity
//	 28  4  BufferCount, 2^n, from 2    96  8  length of the metadata (atomic)
//	 32  4  BufferSize, 2^n            104  8  MetadataCapacity
//	 36  4  mode: 0 discard,           112  8  offset of the classes
//	         1 overwrite               120  8  offset of the metadata
//	 40  4  clock: 0 none, 1 TSC,      128  8  offset of the shards
//	         2 CNTVCT, 3 MONOTONIC_RAW, 136  8  offset of the data
//	         4 MONOTONIC                144  4  state: 0 being made, 1 in use, 2 closed by its writer (atomic)
//	 44  4  pid of the writer           148  4  1 while a reader has the ring, was killed over it, or is
//	                                            expected to come (atomic; listen.go)
//	 48 16  UUID of the trace           152  8  start time of the pid (clock ticks since boot, /proc/PID/stat field 22)
//	                                    160 64  name of the program, UTF-8, NUL-padded
//	                                    224  8  inode of the writer's network namespace when it made the ring
//	                                            (/proc/self/ns/net); 0 unknown, as writers leave it that do not know of it
//	                                    232 16  UUID of the start of the machine that the counter counts from
//	                                            (/proc/sys/kernel/random/boot_id); 0 unknown
//
//	class record (one for each type of events; its number is its place, from 0)
//	  0  4  switch: 0 off, 1 on (atomic; any process that may write the file may store it, read before every event)
//	  4  4  reserved, 0
//	  8  1  length of the name          9  1  length of the category
//	 16 160 name, UTF-8               176 64  category, UTF-8
//
//	control block of a shard: three cache lines and what is reserved, so that writer and reader do not share one
//	  0  8  produced (atomic): position up to which events are published
//	  8  8  discarded (atomic): events that found no room, so far
//	 16  8  stamp of the last event published
//	 24  4  owner: 0 free, else the thread that claimed the shard (atomic)
//	 64  8  consumed (atomic): position up to which a reader has taken them for good
//	128  8  oldest (atomic, overwrite mode): position of the oldest sub-buffer that is not being overwritten
//
// # Positions and events
//
// A position counts the bytes of a shard's sub-buffers as if they went on for ever: position p lies in sub-buffer
// (p / BufferSize) mod BufferCount at offset p mod BufferSize. Events lie one behind another and none crosses the end of
// a sub-buffer:
//
//	event:  stamp (8 bytes, cycles of the clock)  class (2 bytes)  length of the whole event (2 bytes)  fields ...
//
// packed without alignment, which is how CTF lays out the structure {uint64 stamp; uint16 id; uint16 size} and the fields
// declared for the class in the metadata, all aligned to bytes. What is left at the end of a sub-buffer when the next event
// does not fit begins with an event's head of 12 zero bytes, or is shorter than that: the reader goes on at the next
// sub-buffer. The writer writes these zeros when it enters the next sub-buffer, not when it drops an event instead.
//
// The writer fills an event in and then stores produced; before that no reader looks at the event. So a writer that is killed
// leaves no half event. In discard mode the writer loads consumed before it enters a sub-buffer; if that still holds events that
// were not read, the new event is counted in discarded and dropped. In overwrite mode it stores oldest before it enters the
// sub-buffer, and a reader that then finds oldest beyond what it copied drops the copy.
//
// The reader copies the bytes from consumed to produced and walks them by their lengths. It trusts no length that leads
// beyond what is published or beyond a sub-buffer. From the events it makes CTF packets, whose header it writes itself, so
// that the writer spends nothing on them. It stores consumed only when told that the packets are safe (Commit): if it is killed
// before, the next reader takes them again, and if after, never.
//
// One writer at a time has a shard. A writer whose shard is full may go on in a spare one (spare.go).
//
// # Memory order
//
// Writer and reader share memory without a lock, perhaps between two processes. Three pairs of accesses order everything else;
// all are 8 bytes, aligned, so that none is torn:
//
//	writer                              reader                               what it guarantees
//	bytes of an event, then             load produced (acquire), then        a reader that sees the position sees the
//	  store produced (release)            the bytes before it                  whole event
//	load consumed (acquire), then       the bytes, then store                discard mode: no byte changes while it
//	  bytes of the next round             consumed (release)                   is copied
//	store oldest, fence, then           copy the bytes, fence, then          overwrite mode: a copy that contains a new
//	  bytes of the next round             load oldest                          byte is recognised and dropped
//
// The third is a sequence lock (Linux: seqcount_t; Boehm, "Can seqlocks get along with programming language memory models?",
// 2012). The writer's fence orders its store of oldest before its later stores, the reader's fence orders the loads of the copy
// before its load of oldest. If the copy has a byte of the next round, then oldest was stored before that byte, so the reader's
// second load returns the new oldest. Both are needed: either one missing lets a processor with a weak order (arm64) show
// the byte and the old oldest.
//
// On amd64 stores are seen in their order and loads are done in theirs (TSO), so that publish is a plain store and fence only
// keeps the compiler from moving code. On arm64 publish is STLR, atomic loads are LDAR, and fence is DMB ISH. Under the race
// detector publish is an atomic store, which the detector knows.
//
// The events themselves are read and written by plain accesses. Where the two could meet at one byte (overwrite mode), the result
// is dropped unseen, which is why the detector is given only rings in Go's memory that do not overwrite (race_test.go). Which
// shard a goroutine writes is the business of package sensor; the owner in the control block only names it.
package ring

// Sizes of version 1.
const (
	magic        = "MERIDIAN"
	version      = 1
	headerSize   = 4096
	classSize    = 256
	controlSize  = 256
	eventHead    = 12
	maxName      = 160
	maxCategory  = 64
	maxProgram   = 64
	maxShards    = 1 << 12
	maxClasses   = 1 << 16
	minBuffer    = 1 << 12
	maxBuffer    = 1 << 24
	minBuffers   = 2
	maxBuffers   = 1 << 12
	maxMetadata  = 1 << 26
	pageSize     = 4096
	maxEventSize = 1<<16 - 1
)

const (
	atVersion        = 8
	atHeaderSize     = 12
	atSize           = 16
	atShardCount     = 24
	atBufferCount    = 28
	atBufferSize     = 32
	atMode           = 36
	atClock          = 40
	atPid            = 44
	atUUID           = 48
	atFrequency      = 64
	atOrigin         = 72
	atFrequencyError = 80
	atClassCount     = 88
	atClassCapacity  = 92
	atMetadataLength = 96
	atMetadataSize   = 104
	atClasses        = 112
	atMetadata       = 120
	atShards         = 128
	atData           = 136
	atState          = 144
	atReader         = 148
	atStartTime      = 152
	atProgram        = 160
	atNetwork        = 224
	atBoot           = 232
)

const (
	atProduced  = 0
	atDiscarded = 8
	atLastStamp = 16
	atOwner     = 24
	atConsumed  = 64
	atOldest    = 128
)
