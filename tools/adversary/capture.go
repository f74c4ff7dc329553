package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Formats of captures. Those of a power of two count in 2^-N s.
//
//	pcap-us pcap-ns        little-endian; pcap-be is pcap-us in the other byte order
//	ng-us ng-ns            pcapng; ng-flags has each packet's direction in its flags, with ns
//	ng-10 ng-20 ng-30      pcapng with if_tsresol 0x80 + N
var formats = []string{"pcap-us", "pcap-ns", "pcap-be", "ng-us", "ng-ns", "ng-flags", "ng-10", "ng-20", "ng-30"}

// formatGrain is the step of a format's stamps, as a part of a host's grain: a power of two becomes the grain itself.
func formatGrain(format string) (g Grain) {
	switch format {
	case "pcap-us", "pcap-be", "ng-us":
		g.Shown = 1000
	case "ng-10":
		g.Num, g.Den = second, 1<<10
	case "ng-20":
		g.Num, g.Den = second, 1<<20
	case "ng-30":
		g.Num, g.Den = second, 1<<30
	}
	return g
}

// save writes the world's files into a directory and returns the inputs as arguments of the command, and the events that the files
// hold in full: those whose packet the cut end of a capture took are not among them.
func (w *World) save(dir string) (inputs []string, events []Event, err error) {
	if w.List {
		for i := range w.Hosts {
			events = append(events, w.events(i)...)
		}
		return []string{"messages.txt"}, events, os.WriteFile(filepath.Join(dir, "messages.txt"), w.list(), 0o644)
	}
	for i := range w.Hosts {
		h := &w.Hosts[i]
		all := shuffled(w.events(i), h.Shuffle, w.Seed)
		for part := range max(1, h.Files) {
			some := all[len(all)*part/max(1, h.Files) : len(all)*(part+1)/max(1, h.Files)]
			if len(some) == 0 {
				continue
			}
			name := h.Name + ".pcap"
			if h.Files > 1 {
				name = fmt.Sprintf("%s%d.pcap", h.Name, part)
			}
			if strings.HasPrefix(h.Format, "ng") {
				name += "ng"
			}
			whole, err := w.capture(filepath.Join(dir, name), h, some)
			if err != nil {
				return nil, nil, err
			}
			inputs = append(inputs, h.Name+"="+name)
			events = append(events, some[:whole]...)
		}
		if h.Address && len(all) > 0 {
			inputs = append(inputs, "--address", h.Name+"="+address(i))
		}
	}
	return inputs, events, nil
}

// capture writes a host's events as a file and returns how many of them it holds in full.
func (w *World) capture(name string, h *Host, events []Event) (int, error) {
	var f captureFile
	f.begin(h)
	ends := make([]int, len(events))
	for k := range events {
		f.packet(h, &events[k], w.packet(&events[k]))
		ends[k] = f.Len()
	}
	size := f.Len() - min(h.Cut, f.Len()-ends[0])
	whole := 0
	for whole < len(ends) && ends[whole] <= size {
		whole++
	}
	return whole, os.WriteFile(name, f.Bytes()[:size], 0o644)
}

// shuffled is the events with neighbours out of order, as several queues of a network card deliver them: within reach ns.
func shuffled(events []Event, reach int, seed uint64) []Event {
	r := rand.New(rand.NewPCG(seed, 77))
	order := append([]Event(nil), events...)
	for i := 0; i+1 < len(order); i++ {
		if order[i+1].At-order[i].At <= int64(reach) && r.IntN(2) == 0 {
			order[i], order[i+1] = order[i+1], order[i]
		}
	}
	return order
}

// captureFile is a capture as it grows.
type captureFile struct{ bytes.Buffer }

func (f *captureFile) put(order binary.AppendByteOrder, values ...uint32) {
	b := f.AvailableBuffer()
	for _, v := range values {
		b = order.AppendUint32(b, v)
	}
	f.Write(b)
}

func (f *captureFile) begin(h *Host) {
	le, snap := binary.LittleEndian, uint32(262144)
	if h.Snap > 0 {
		snap = uint32(h.Snap)
	}
	switch h.Format {
	case "pcap-us":
		f.put(le, 0xa1b2c3d4, 2|4<<16, 0, 0, snap, 1)
	case "pcap-ns":
		f.put(le, 0xa1b23c4d, 2|4<<16, 0, 0, snap, 1)
	case "pcap-be":
		f.put(binary.BigEndian, 0xa1b2c3d4, 2<<16|4, 0, 0, snap, 1)
	default:
		f.put(le, 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff, 28)
		// An interface of Ethernet with the option if_tsresol.
		f.put(le, 1, 32, 1, snap, 9|1<<16, uint32(resolution(h.Format)), 0, 32)
		if h.Other != nil && h.Other.Select == "odd" { // its other interface counts in µs
			f.put(le, 1, 32, 1, snap, 9|1<<16, 6, 0, 32)
		}
	}
}

// resolution is if_tsresol.
func resolution(format string) byte {
	switch format {
	case "ng-us":
		return 6
	case "ng-10":
		return 0x80 + 10
	case "ng-20":
		return 0x80 + 20
	case "ng-30":
		return 0x80 + 30
	}
	return 9
}

func (f *captureFile) packet(h *Host, e *Event, data []byte) {
	original := uint32(len(data))
	if h.Snap > 0 && len(data) > h.Snap {
		data = data[:h.Snap]
	}
	size := uint32(len(data))
	le := binary.LittleEndian
	sec, ns := uint32(floorDiv(e.Stamp, second)), uint32(e.Stamp-floorDiv(e.Stamp, second)*second)
	switch h.Format {
	case "pcap-us":
		f.put(le, sec, ns/1000, size, original)
	case "pcap-be":
		f.put(binary.BigEndian, sec, ns/1000, size, original)
	case "pcap-ns":
		f.put(le, sec, ns, size, original)
	default:
		f.enhanced(h, e, data, original)
		return
	}
	f.Write(data)
}

// enhanced writes an enhanced packet block.
func (f *captureFile) enhanced(h *Host, e *Event, data []byte, original uint32) {
	units, device := uint64(e.Stamp), uint32(0)
	if o := h.other(e.Message, false); o != nil && o.Select == "odd" {
		device = 1
	}
	switch res := resolution(h.Format); {
	case res == 6 || device == 1:
		units /= 1000
	case res > 0x80:
		n, _ := h.Grain.units(h.Clock.read(e.At))
		units = uint64(n)
	}
	pad := (4 - len(data)%4) % 4
	length := uint32(32 + len(data) + pad)
	flags := h.Format == "ng-flags" && e.Message != nil
	if flags {
		length += 12
	}
	le := binary.LittleEndian
	f.put(le, 6, length, device, uint32(units>>32), uint32(units), uint32(len(data)), original)
	f.Write(data)
	f.Write(make([]byte, pad))
	if flags {
		direction := uint32(1) // inbound
		if e.Message.Sent == e.At {
			direction = 2
		}
		f.put(le, 2|4<<16, direction, 0)
	}
	f.put(le, length)
}

// list is the messages as text.
func (w *World) list() []byte {
	var b bytes.Buffer
	for i := range w.Messages {
		m := &w.Messages[i]
		from, to := &w.Hosts[m.From], &w.Hosts[m.To]
		fmt.Fprintf(&b, "%s %s %s %s\n", from.Name, to.Name, decimal(from.stamp(m.Sent, m, false), w.Digits),
			decimal(to.stamp(m.Sent+m.Delay, m, true), w.Digits))
	}
	return b.Bytes()
}

// decimal is ns as seconds with a number of decimals; what they cannot show is 0 already.
func decimal(ns int64, digits int) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	s := fmt.Sprintf("%s%d.%09d", sign, ns/second, ns%second)
	if digits < 9 {
		s = s[:len(s)-9+digits]
	}
	return strings.TrimSuffix(s, ".")
}
