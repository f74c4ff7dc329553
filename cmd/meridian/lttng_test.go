package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"pgregory.net/rapid"

	"meridian/internal/lttng"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/testneed"
)

// The words of scripts for traces of LTTng:
//
//	lttng DIR HOST [WORD]...   write what the kernel of a host of the world recorded, a session's directory
//	flip FILE OFFSET           flip all bits of one byte
//
// Words of lttng are the style (nested, separate, extended, unaddressed), user for a program's trace beside the kernel's, late for
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

// TestInAnyWorldKernelTracesKeepTheTruthWithinTheBounds is the same of random worlds in which hosts have traces of any
// version of the tracer, or captures.
func TestInAnyWorldKernelTracesKeepTheTruthWithinTheBounds(t *testing.T) {
	testneed.Long(t, "draws worlds")
	t.Parallel()
	messages := int64(0)
	checkWorlds(t, func(r *rapid.T, w *world, description, directory string) {
		var arguments []string
		bare := false
		for _, c := range w.captures {
			o := lttng.Options{
				Host: c.host.name, Clock: c.host.tx.At, Style: lttng.Style(rapid.IntRange(-1, int(lttng.Styles)-1).Draw(r, "style")),
				Processors: rapid.IntRange(1, 4).Draw(r, "processors"), OutOfOrder: rapid.Bool().Draw(r, "out of order"),
				Quiet: rapid.Bool().Draw(r, "quiet"), PacketSize: 8 << 10,
			}
			if o.Style < 0 || c.host.two {
				arguments = append(arguments, filepath.Join(directory, c.path))
				continue
			}
			bare = bare || o.Style == lttng.Unaddressed
			written, err := lttng.Write(filepath.Join(directory, "traces", c.host.name), w.lttngPackets(c.host), o)
			if err != nil {
				t.Fatal(err)
			}
			arguments = append(arguments, written.Dir)
		}
		inputs, err := input.Parse(arguments)
		if err != nil {
			r.Fatal(err)
		}
		report := filepath.Join(directory, "report.json")
		outcome, err := pipeline.Run(r.Context(), inputs, pipeline.Options{Outputs: []string{report}})
		if err != nil {
			r.Fatalf("%v in\n%s", err, description)
		}
		messages += outcome.Report.Quality.Messages
		for _, reason := range outcome.Broken {
			// Of a host with two clocks that is known without addresses, nothing may tell which one stamped what.
			if !strings.Contains(description, "rx=") {
				r.Fatalf("%s in\n%s", reason, description)
			}
		}
		if len(outcome.Broken) > 0 {
			return
		}
		a, err := w.aligned(report)
		if err != nil {
			r.Fatal(err)
		}
		if err := a.check(time.Hour); err != nil {
			r.Fatalf("%v (bare %t) in\n%s", err, bare, description)
		}
	})
	if messages == 0 {
		t.Error("no message was found")
	}
}
