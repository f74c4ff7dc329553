package stream

import "io"

const (
	pieceSize = 256 << 10
	pieces    = 4
)

// runner decompresses ahead of its reader. Pieces travel in a circle: free -> filled by run -> full -> emptied by Read.
type runner struct {
	full, free chan []byte
	quit, done chan struct{}
	rest, last []byte // what Read has not delivered of the piece that it holds, and that whole piece
	err        error  // what ended the input: set before full is closed
}

func startRunner(d io.ReadCloser) *runner {
	a := &runner{
		full: make(chan []byte, pieces),
		free: make(chan []byte, pieces),
		quit: make(chan struct{}),
		done: make(chan struct{}),
	}
	go a.run(d)
	return a
}

func (a *runner) run(d io.ReadCloser) {
	defer close(a.done)
	defer close(a.full)
	defer d.Close()
	for made := 0; ; {
		var piece []byte
		select {
		case piece = <-a.free:
		default:
			if made < pieces {
				piece = make([]byte, pieceSize)
				made++
				break
			}
			select {
			case piece = <-a.free:
			case <-a.quit:
				return
			}
		}
		n, err := 0, error(nil)
		for n < len(piece) && err == nil {
			var k int
			k, err = d.Read(piece[n:])
			n += k
			select {
			case <-a.quit:
				return
			default:
			}
		}
		a.err = err
		a.full <- piece[:n] // never blocks: there are only as many pieces as it holds
		if err != nil {
			return
		}
	}
}

func (a *runner) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.last != nil {
			a.free <- a.last[:cap(a.last)]
			a.last = nil
		}
		piece, ok := <-a.full
		if !ok {
			if a.err == nil {
				return 0, io.ErrClosedPipe
			}
			return 0, a.err
		}
		a.rest, a.last = piece, piece
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
