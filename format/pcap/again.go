package pcap

import (
	"errors"
	"fmt"
	"io"

	"meridian/trace"
)

// AgainReader brings the frames of a capture that was read before, and no others: those that a growing file has by now
// are left out. It implements [trace.FrameReader].
type AgainReader struct {
	*Reader
	frames  int             // that are still to come
	sum     uint64          // of their stamps
	retimed []trace.Retimed // those of them that get another time
}

// OpenAgain opens a capture that had some packets, and the sum of timestamps and the packets with another time that
// [trace.Capture] has. Next returns an error where the file has others by now.
func OpenAgain(path string, packets int, stampSum uint64, retimed []trace.Retimed) (*AgainReader, error) {
	r, err := Open(path, nil)
	if err != nil {
		return nil, err
	}
	return &AgainReader{Reader: r, frames: packets, sum: stampSum, retimed: retimed}, nil
}

func (r *AgainReader) Next(f *trace.Frame) error {
	if err := nextAgain(r.Reader, f, &r.frames, &r.sum); err != nil {
		return err
	}
	if len(r.retimed) > 0 && r.retimed[0].Number == f.Number {
		f.Time, r.retimed = r.retimed[0].Time, r.retimed[1:]
	}
	return nil
}

var errChanged = errors.New("the file was changed while it was read; run again")

// nextAgain brings the next of as many frames as a file had, whose stamps had some sum modulo 1<<64. At the end both
// are 0, or the file was changed since.
func nextAgain(r *Reader, f *trace.Frame, frames *int, sum *uint64) error {
	if *frames == 0 && *sum == 0 {
		return io.EOF
	}
	if *frames > 0 {
		if err := r.Next(f); err == nil {
			*frames--
			*sum -= uint64(f.Time)
			return nil
		} else if err != io.EOF {
			return err
		}
	}
	return fmt.Errorf("%s: %w", r.file, errChanged)
}
