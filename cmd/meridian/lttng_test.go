package main_test

import (
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"meridian/internal/lttng"
)

// The words of scripts for traces of LTTng:
//
//	lttng DIR HOST [WORD]...   write what the kernel of a host of the world recorded, a session's directory
//	flip FILE OFFSET           flip all bits of one byte
//
// Words of lttng are the style (nested, beside, extended, bare), user for a program's trace beside the kernel's, late for
// events written out of order, plain for metadata as text, gap=DURATION of lost events, program=NAME, name=NAME of the
// host as the trace says it, packet=BYTES, cpus=N.

func writeLTTng(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 20)
	w := benchOf(ts).world
	h, err := w.host(args[1])
	ts.Check(err)
	o := lttng.Options{Host: h.name, Clock: h.tx.At, PacketSize: 16 << 10}
	values := make(settings)
	for _, word := range args[2:] {
		if name, value, ok := strings.Cut(word, "="); ok {
			values[name] = value
			continue
		}
		switch word {
		case "user":
			o.User = true
		case "late":
			o.OutOfOrder = true
		case "plain":
			o.Plain = true
		default:
			o.Style = styleNamed(ts, word)
		}
	}
	text := func(name, otherwise string) string {
		return setting(values, name, otherwise, func(s string) (string, error) { return s, nil })
	}
	o.Gap, o.Program, o.Host = values.duration("gap", 0), text("program", ""), text("name", o.Host)
	o.PacketSize, o.Processors = int(values.number("packet", float64(o.PacketSize))), int(values.number("cpus", 0))
	ts.Check(values.wrong())
	_, err = lttng.Write(ts.MkAbs(args[0]), w.lttngPackets(h), o)
	ts.Check(err)
}

func styleNamed(ts *testscript.TestScript, word string) lttng.Style {
	for s := range lttng.Styles {
		if s.String() == word {
			return s
		}
	}
	ts.Fatalf("lttng does not know the word %s", word)
	return 0
}

// lttngPackets returns what passed a host's network interface.
func (w *world) lttngPackets(h *host) []lttng.Packet {
	const link = 14
	var all []lttng.Packet
	for _, p := range w.packets {
		x := lttng.Packet{Data: p.data[link:], Wire: len(p.data) - link, At: p.arrived}
		switch h {
		case p.from:
			x.Sent, x.At = true, p.sent
		case p.to:
		default:
			continue
		}
		all = append(all, x)
	}
	return all
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	name := ts.MkAbs(args[0])
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := os.ReadFile(name)
	ts.Check(err)
	if at < 0 || at >= len(data) {
		ts.Fatalf("%s has %d bytes", args[0], len(data))
	}
	data[at] ^= 0xff
	ts.Check(os.WriteFile(name, data, 0o666))
}
