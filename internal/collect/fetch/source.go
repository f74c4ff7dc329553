// Package fetch brings traces from servers to a local directory: whole, or so that the next attempt goes on where this one ended.
//
//	server: DIR/SESSION/HOST --files: names and sizes--> client --> OUT/.HOST.partial
//	                         --read: ranges, chunks--->         --> OUT/HOST, when all is there
//
// Each range comes as a chunk (package wire) with a checksum from disk to disk. Sizes are taken first and the metadata is read last, so that it has the
// types of all packets. Nothing is read outside of a host's directory, whatever is asked for.
package fetch

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

// traceFile has the UUID of the trace in a host's directory, as package store writes it.
const traceFile = ".trace"

// source is the directory of a server.
type source struct{ dir, server string }

// Endpoints returns those at which a server gives what is in its directory.
func Endpoints(dir, server string) []service.Endpoint {
	s := &source{dir, server}
	return []service.Endpoint{
		{Name: "files", Subject: wire.ControlFiles, Check: wire.CheckReply, Handle: func(data []byte) (any, string) {
			list := s.files(data)
			return list, list.Error
		}},
		{Name: "read", Subject: wire.ReadFrom(server), Check: wire.CheckReply, Handle: func(data []byte) (any, string) {
			answer, err := s.read(data)
			if err != nil {
				return nil, err.Error()
			}
			return answer, ""
		}},
	}
}

func (s *source) files(data []byte) wire.FileList {
	list := wire.FileList{Version: wire.Version, Server: s.server}
	r, err := wire.Decode[wire.Files](data)
	if err == nil {
		err = r.Check()
	}
	if err == nil {
		list.Trace, list.Files, err = s.list(filepath.Join(s.dir, r.Session, r.Host))
	}
	if err != nil {
		list.Error = err.Error()
	}
	return list
}

func (s *source) list(dir string) (trace string, files []wire.State, err error) {
	b, err := os.ReadFile(filepath.Join(dir, traceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	} else if err != nil {
		return "", nil, err
	}
	names, err := wire.List(dir, os.ReadDir)
	if err != nil {
		return "", nil, err
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", nil, err
		}
		files = append(files, wire.State{Name: name, Have: info.Size()})
	}
	return strings.TrimSpace(string(b)), files, nil
}

// read returns the bytes of a chunk, or the checksum of a range.
func (s *source) read(data []byte) (answer any, err error) {
	r, err := wire.Decode[wire.Read](data)
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Join(s.dir, r.Session, r.Host)) // which no link leads out of
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(r.File))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", r.File)
	}
	if r.Sum {
		sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if _, err := io.Copy(sum, io.NewSectionReader(f, r.Offset, r.Length)); err != nil {
			return nil, err
		}
		return wire.State{Name: r.File, Have: info.Size(), Sum: sum.Sum32()}, nil
	}
	c := wire.Chunk{Kind: wire.Data, Session: r.Session, File: r.File, Offset: r.Offset}
	if r.File == wire.Metadata {
		if c.Kind = wire.Document; info.Size() > wire.MaxRange {
			return nil, fmt.Errorf("%s has %d bytes, of which %d are permitted", r.File, info.Size(), wire.MaxRange)
		}
		c.Offset, r.Offset, r.Length = 0, 0, info.Size()
	}
	c.Data = make([]byte, r.Length)
	n, err := f.ReadAt(c.Data, r.Offset)
	if err != nil && err != io.EOF {
		return nil, err
	}
	c.Data = c.Data[:n]
	return c.Append(nil, nil), nil
}
