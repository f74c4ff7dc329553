//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Packets as recorders write them: head bytes, then events, each with its number first.
const (
	eventBytes = 48
	packetHead = 64
	sizeAt     = 56
	mostEvents = 1364 // of a packet of 64 KiB
	magic      = 0xc1fc1fc1
	tick       = 20 * time.Millisecond // of a writer
	markEvery  = 50 * time.Millisecond
)

const metadata = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; byte_order = le; };\n"

// Files of a host. Marks are of the class that is sent first.
const eventFile, markFile = "kernel_0", "clocks_0"

// host writes a trace.
type host struct {
	name, dir string
	f         *os.File
	events    int64 // that are written
	packet    []byte
}

func newHost(dir, name string) (*host, error) {
	h := &host{name: name, dir: filepath.Join(dir, name), packet: make([]byte, packetHead+mostEvents*eventBytes)}
	if err := os.MkdirAll(h.dir, 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(h.dir, "metadata"), []byte(metadata), 0o666); err != nil {
		return nil, err
	}
	var err error
	h.f, err = os.Create(filepath.Join(h.dir, eventFile))
	return h, err
}

// seal makes a packet of b.
func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, magic)
	binary.LittleEndian.PutUint64(b[sizeAt:], uint64(len(b))*8)
	return b
}

// write writes events in packets.
func (h *host) write(events int64) error {
	for events > 0 {
		n := min(events, mostEvents)
		b := h.packet[:packetHead+n*eventBytes]
		for i := range n {
			binary.LittleEndian.PutUint64(b[packetHead+i*eventBytes:], uint64(h.events+i))
		}
		if _, err := h.f.Write(seal(b)); err != nil {
			return err
		}
		h.events += n
		events -= n
	}
	return nil
}

// record writes at a rate for some time.
func (h *host) record(ctx context.Context, rate int, length time.Duration) error {
	before, begun := h.events, time.Now()
	t := time.NewTicker(tick)
	defer t.Stop()
	for ctx.Err() == nil {
		since := min(time.Since(begun), length)
		if err := h.write(before + int64(since.Seconds()*float64(rate)) - h.events); err != nil {
			return err
		}
		if since == length {
			break
		}
		<-t.C
	}
	return ctx.Err()
}

// marks writes marks one after the other until ended, and returns how late each is in the server's file.
func (h *host) marks(ctx context.Context, stored string, ended func() bool) (late []time.Duration, err error) {
	f, err := os.Create(filepath.Join(h.dir, markFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	mark := seal(make([]byte, packetHead+eventBytes))
	at := filepath.Join(stored, h.name, markFile)
	for n := int64(1); !ended(); n++ {
		begun := time.Now()
		if _, err := f.Write(mark); err != nil {
			return nil, err
		}
		for size(at) < n*int64(len(mark)) && ctx.Err() == nil {
			time.Sleep(200 * time.Microsecond)
		}
		if ctx.Err() != nil {
			return late, ctx.Err()
		}
		if n > 1 { // the first waits until the server stores the host
			late = append(late, time.Since(begun))
		}
		time.Sleep(markEvery - time.Since(begun))
	}
	return late, nil
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// check reads what the server has of a host: all events, in order.
func (h *host) check(stored string) error {
	f, err := os.Open(filepath.Join(stored, h.name, eventFile))
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	head, body := make([]byte, packetHead), make([]byte, mostEvents*eventBytes)
	n := uint64(0)
	for {
		if _, err := io.ReadFull(in, head); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		length := binary.LittleEndian.Uint64(head[sizeAt:])/8 - packetHead
		if length > uint64(len(body)) {
			return fmt.Errorf("%s: a packet of %d bytes: %w", f.Name(), length, errOrder)
		}
		if _, err := io.ReadFull(in, body[:length]); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		for at := uint64(0); at < length; at += eventBytes {
			if binary.LittleEndian.Uint64(body[at:]) != n {
				return fmt.Errorf("%s: event %d: %w", f.Name(), n, errOrder)
			}
			n++
		}
	}
	if n != uint64(h.events) {
		return fmt.Errorf("%s: %d of %d events: %w", f.Name(), n, h.events, errOrder)
	}
	for _, name := range []string{"metadata", markFile} {
		a, err := os.ReadFile(filepath.Join(h.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		b, err2 := os.ReadFile(filepath.Join(stored, h.name, name))
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%s of %s is not what the host has: %w", name, h.name, errOrder)
		}
	}
	return nil
}
