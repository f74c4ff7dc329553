//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
)

// files and packetBytes are of the trace that is copied.
const (
	files       = 4
	packetBytes = 64 << 10
	eventBytes  = 48
	magic       = 0xc1fc1fc1
	sizeAt      = 56 // of the packet in bits, behind the UUID and the stamps
)

// writeTrace makes the directory of a recorder that has ended: files of packets of events of 48 bytes, as compressible as such are.
func writeTrace(dir string, size int64) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	const metadata = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; byte_order = le; };\n"
	if err := os.WriteFile(filepath.Join(dir, "metadata"), []byte(metadata), 0o666); err != nil {
		return err
	}
	packet := make([]byte, packetBytes)
	binary.LittleEndian.PutUint32(packet, magic)
	binary.LittleEndian.PutUint64(packet[sizeAt:], packetBytes*8)
	stamp := uint64(1e18)
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("kernel_%d", i)))
		if err != nil {
			return err
		}
		for left := size / files; left >= packetBytes; left -= packetBytes {
			for at := sizeAt + 8; at+eventBytes <= packetBytes; at += eventBytes {
				stamp += 300 + stamp%977
				binary.LittleEndian.PutUint64(packet[at:], stamp)
				binary.LittleEndian.PutUint64(packet[at+8:], stamp%7)
				binary.LittleEndian.PutUint64(packet[at+16:], stamp*0x9e3779b97f4a7c15)
			}
			if _, err := f.Write(packet); err != nil {
				f.Close()
				return err
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
