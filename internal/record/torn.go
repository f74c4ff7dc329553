package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"meridian/internal/record/packet"
)

// sourceHead is the size of the fixed part of a source's packet: up to and including the packet's size.
const sourceHead = atSize + 8

// cutTorn cuts off the torn packets that a killed recorder left in the files of sources, and returns their sizes by file. Some
// readers stop at such a packet.
func cutTorn(dir string, uuid [16]byte) (map[string]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	cut := map[string]int64{}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || name == "metadata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, sensorFiles) {
			continue
		}
		path := filepath.Join(dir, name)
		n, err := cutTornFile(path, uuid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if n > 0 {
			cut[path] = n
		}
	}
	return cut, nil
}

// cutTornPackets does the same for the files of captures. The comment on their stamps shows that they are the trace's.
func cutTornPackets(dir string, origin int64) (map[string]int64, error) {
	dir = filepath.Join(dir, packetFiles)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	cut := map[string]int64{}
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != packetSuffix {
			continue
		}
		path := filepath.Join(dir, e.Name())
		n, err := packet.CutTorn(path, func(comment string) bool { return strings.HasSuffix(comment, stampedBy(origin)) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if n > 0 {
			cut[path] = n
		}
	}
	return cut, nil
}

func cutTornFile(path string, uuid [16]byte) (cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	mark := append(le.AppendUint32(nil, packetMagic), uuid[:]...)
	head := make([]byte, sourceHead)
	for at := int64(0); at < info.Size(); {
		n, err := f.ReadAt(head, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if known := min(n, len(mark)); !bytes.Equal(head[:known], mark[:known]) {
			return 0, nil // not written by a recorder of this trace
		}
		rest := info.Size() - at
		if length := le.Uint64(head[atSize:]); n == len(head) && length%8 == 0 && length/8 >= sourceHead && length/8 <= uint64(rest) {
			at += int64(length / 8)
			continue
		}
		return rest, f.Truncate(at)
	}
	return 0, nil
}
