package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"meridian/format/ctf"
	"meridian/sensor/tsdl"
	"meridian/trace"
)

// metadata returns the metadata of LTTng's kernel tracer: compact event headers, two context fields, six integers an event.
func metadata() []byte {
	var m tsdl.Metadata
	m.Comment("CTF 1.8")
	m.Integers()
	const uuid = "6a0e1a8e-1d5c-4b7f-9a53-3f1d6f0a9b11"
	m.Trace(tsdl.Trace{UUID: uuid, PacketHeader: tsdl.Struct(1, tsdl.PacketHeader()...)})
	m.Env(tsdl.Text("hostname", "speed"), tsdl.Text("domain", "kernel"), tsdl.Text("tracer_name", "lttng-modules"))
	m.Clock(tsdl.Clock{Name: "monotonic", Frequency: 1_000_000_000, Offset: 1_700_000_000_000_000_000})
	m.Stamp("monotonic")
	int32Type := tsdl.Integer{Size: 32, Align: 8, Signed: true}.Type()
	compact := tsdl.Integer{Size: 27, Align: 1, Clock: "monotonic"}.Type()
	id := tsdl.Enum(tsdl.Integer{Size: 5, Align: 1}.Type(), false,
		tsdl.Label{Name: "compact", Low: 0, High: 30}, tsdl.Label{Name: "extended", Low: 31, High: 31})
	header := tsdl.Struct(1, id.Named("id"), tsdl.Variant("id", 2,
		tsdl.Struct(3, compact.Named("timestamp")).Named("compact"),
		tsdl.Struct(3, tsdl.Uint32.Named("id"), tsdl.Stamp.Named("timestamp")).Named("extended")).Named("v"))
	m.Stream(tsdl.Stream{
		PacketContext: tsdl.Struct(1, append(tsdl.PacketContext(), tsdl.Uint32.Named("cpu_id"))...),
		EventHeader:   header.Aligned(8),
		EventContext:  tsdl.Struct(1, int32Type.Named("_vpid"), int32Type.Named("_vtid")),
	})
	for i := range uint64(classes) {
		m.Event(tsdl.Event{Name: fmt.Sprint("event_", i), ID: i, Fields: tsdl.Struct(1,
			tsdl.Uint64.Named("_call_site"), tsdl.Uint64.Named("_ptr"), tsdl.Uint32.Named("_bytes_req"),
			tsdl.Uint32.Named("_bytes_alloc"), int32Type.Named("_node"), tsdl.Uint16.Named("_flags"))})
	}
	return m.Bytes()
}

const classes = 20

// write writes the trace.
func write(dir string, events int) error {
	text := metadata()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var w trace.Warnings
	m, err := ctf.ParseMetadata(text, "metadata", &w)
	if err != nil {
		return err
	}
	const cpus = 4
	for cpu := range cpus {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("channel0_%d", cpu)))
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(f, 1<<20)
		s, err := ctf.NewEncoder(m).NewStream(out, 0, ctf.StreamOptions{Instance: uint64(cpu), Context: []trace.Value{trace.OfUint(uint64(cpu))}})
		if err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(1, uint64(cpu)))
		context, fields := make([]trace.Value, 2), make([]trace.Value, 6)
		now := uint64(1000)
		for range (events + cpus - 1 - cpu) / cpus {
			now += 1 + random.Uint64N(4000)
			context[0], context[1] = trace.OfInt(int64(random.Int32N(30000))), trace.OfInt(int64(random.Int32N(30000)))
			fields[0], fields[1] = trace.OfUint(random.Uint64()), trace.OfUint(random.Uint64())
			fields[2], fields[3] = trace.OfUint(random.Uint64N(4096)), trace.OfUint(4096)
			fields[4], fields[5] = trace.OfInt(-1), trace.OfUint(random.Uint64N(1<<16))
			if err := s.Write(random.IntN(classes), now, context, nil, fields); err != nil {
				return err
			}
		}
		if err := s.Flush(); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "metadata"), text, 0o644)
}
