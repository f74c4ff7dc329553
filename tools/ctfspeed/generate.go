package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"meridian/format/ctf"
	"meridian/trace"
)

const metadata = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
trace {
	major = 1; minor = 8;
	uuid = "6a0e1a8e-1d5c-4b7f-9a53-3f1d6f0a9b11";
	byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };
};
env { hostname = "speed"; domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;
struct packet_context {
	uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end; uint64_t content_size; uint64_t packet_size;
	uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
};
struct event_header_compact {
	enum : integer { size = 5; align = 1; signed = false; } { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_clock_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_t timestamp; } extended;
	} v;
} align(8);
stream {
	id = 0;
	packet.context := struct packet_context;
	event.header := struct event_header_compact;
	event.context := struct { int32_t _vpid; int32_t _vtid; };
};
`

const classes = 20

// write writes the trace.
func write(dir string, events int) error {
	text := metadata
	for i := range classes {
		text += fmt.Sprintf("event { name = \"event_%d\"; id = %d; stream_id = 0; fields := struct "+
			"{ uint64_t _call_site; uint64_t _ptr; uint32_t _bytes_req; uint32_t _bytes_alloc; int32_t _node; uint16_t _flags; }; };\n", i, i)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var w trace.Warnings
	m, err := ctf.ParseMetadata([]byte(text), "metadata", &w)
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
	return os.WriteFile(filepath.Join(dir, "metadata"), []byte(text), 0o644)
}
