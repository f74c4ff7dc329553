package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/trace"
)

// output is a capture being written.
type output interface {
	write(t clock.HostTime, data []byte, wire int) error
	flush() error
}

func newOutput(w io.Writer, format, host string, snap int) (output, error) {
	switch format {
	case "pcap", "pcap-us":
		return newRecords(w, format == "pcap-us", snap)
	case "pcapng":
		iface := pcap.WriterInterface{Name: "eth0", Description: "host " + host, LinkType: 1, SnapLength: uint32(snap)}
		x, err := pcap.NewWriter(w, []pcap.WriterInterface{iface}, "")
		return &blocks{x}, err
	}
	return nil, fmt.Errorf("unknown format %q: pcap, pcap-us or pcapng", format)
}

// records is a classic pcap file.
type records struct {
	w     *bufio.Writer
	scale int64
	head  [16]byte
}

func newRecords(w io.Writer, micro bool, snap int) (*records, error) {
	r := &records{w: bufio.NewWriterSize(w, 1<<20), scale: 1}
	magic := uint32(0xa1b23c4d)
	if micro {
		magic, r.scale = 0xa1b2c3d4, 1000
	}
	var head [24]byte
	binary.LittleEndian.PutUint32(head[:], magic)
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], uint32(snap))
	binary.LittleEndian.PutUint32(head[20:], 1)
	_, err := r.w.Write(head[:])
	return r, err
}

func (r *records) write(t clock.HostTime, data []byte, wire int) error {
	binary.LittleEndian.PutUint32(r.head[:], uint32(int64(t)/1_000_000_000))
	binary.LittleEndian.PutUint32(r.head[4:], uint32(int64(t)%1_000_000_000/r.scale))
	binary.LittleEndian.PutUint32(r.head[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(r.head[12:], uint32(wire))
	if _, err := r.w.Write(r.head[:]); err != nil {
		return err
	}
	_, err := r.w.Write(data)
	return err
}

func (r *records) flush() error { return r.w.Flush() }

// blocks is a pcapng file.
type blocks struct{ x *pcap.Writer }

func (b *blocks) write(t clock.HostTime, data []byte, wire int) error {
	return b.x.Write(0, &trace.Frame{Time: t, Data: data, Wire: uint32(wire)})
}

func (b *blocks) flush() error { return b.x.Flush() }
