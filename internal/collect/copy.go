package collect

import (
	"errors"
	"fmt"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// copyPiece is what a server sends of a file to another in one message, at most.
const copyPiece = 256 << 10

// copy sends a range of a file to another server, as far as it is on the disk here, and returns how much. What is lost on the way the agent
// asks for again.
func (s *Server) copy(host *store.Host, c *wire.Copy) (sent int64, err error) {
	if err := c.Check(); err != nil {
		return 0, err
	}
	if c.To == s.o.Name {
		return 0, fmt.Errorf("a copy of %s to this server itself", c.File)
	}
	piece := min(copyPiece, s.o.Conn.MaxPayload()-int64(wire.MaxOverhead))
	if piece < 4096 {
		return 0, fmt.Errorf("the broker permits messages of %d bytes: set its max_payload to 64 KiB or more", s.o.Conn.MaxPayload())
	}
	f, size, err := host.Open(c.File)
	if err != nil || f == nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data := make([]byte, min(piece, c.Bytes))
	subject := wire.OfHostServer(host.Name, "fill", c.To)
	var out []byte
	for end := min(size, c.From+c.Bytes); c.From+sent < end; {
		at := c.From + sent
		b := data[:min(int64(len(data)), end-at)]
		if n, err := f.ReadAt(b, at); n < len(b) {
			return sent, fmt.Errorf("%s: %d bytes at %d of %d: %w", c.File, len(b), at, size, err)
		}
		chunk := wire.Chunk{Kind: wire.Data, Session: host.Session, File: c.File, Offset: at, Data: b}
		out = chunk.Append(out[:0], nil)
		if err := s.o.Conn.Publish(subject, out); err != nil {
			return sent, err
		}
		sent += int64(len(b))
	}
	return sent, nil
}
