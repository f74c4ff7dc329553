package trace

import "meridian/clock"

// FrameChunk is some frames of a capture that stand together in its file.
type FrameChunk struct {
	Least, Greatest clock.HostTime // of their stamps
	Bytes           int64          // that they take in the file
}

// FrameChunks divides the frames of a capture into chunks from which they can be read, by several readers at a time.
type FrameChunks interface {
	// Len returns how many chunks there are. They hold all frames of the capture, in the order of the file.
	Len() int
	// Chunk describes a chunk.
	Chunk(i int) FrameChunk
	// Open returns a reader of chunks. The caller closes it.
	Open() (ChunkReader, error)
}

// ChunkReader reads frames of chunks. It is used by one goroutine at a time.
type ChunkReader interface {
	// Load brings the chunks from one up to, but not including, another into memory, instead of those before. It is an error if the
	// file has not the bytes any more that it had when the capture was read.
	Load(from, to int) error
	// Next fills f with the next frame of what was loaded, or returns io.EOF after the last. The bytes of all frames last until
	// the next Load.
	Next(f *Frame) error
	// Close ends the reading.
	Close() error
}
