package perfetto

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"meridian/clock"
	"meridian/internal/filetest"
)

// schema is what Perfetto's .proto files say of the fields that we write, for reading them back: the message's name, the
// field's name, and the name of the message in it or what it holds. It is written from those files, not from wire.go.
var schema = map[string]map[protowire.Number][2]string{
	"Trace": {1: {"packet", "TracePacket"}},
	"TracePacket": {
		6: {"clock_snapshot", "ClockSnapshot"}, 8: {"timestamp", "uint"}, 10: {"trusted_packet_sequence_id", "uint"},
		11: {"track_event", "TrackEvent"}, 12: {"interned_data", "InternedData"}, 13: {"sequence_flags", "uint"},
		59: {"trace_packet_defaults", "TracePacketDefaults"}, 60: {"track_descriptor", "TrackDescriptor"},
	},
	"ClockSnapshot":       {1: {"clocks", "Clock"}, 2: {"primary_trace_clock", "uint"}},
	"Clock":               {1: {"clock_id", "uint"}, 2: {"timestamp", "uint"}},
	"TracePacketDefaults": {58: {"timestamp_clock_id", "uint"}},
	"TrackDescriptor": {
		1: {"uuid", "uint"}, 2: {"name", "string"}, 5: {"parent_uuid", "uint"}, 8: {"counter", "CounterDescriptor"},
		11: {"child_ordering", "uint"}, 12: {"sibling_order_rank", "uint"}, 14: {"description", "string"},
		15: {"sibling_merge_behavior", "uint"},
	},
	"CounterDescriptor": {3: {"unit", "uint"}},
	"InternedData": {
		1: {"event_categories", "Interned"}, 2: {"event_names", "Interned"}, 3: {"debug_annotation_names", "Interned"},
	},
	"Interned": {1: {"iid", "uint"}, 2: {"name", "string"}},
	"TrackEvent": {
		3: {"category_iids", "uint"}, 4: {"debug_annotations", "DebugAnnotation"}, 9: {"type", "uint"}, 10: {"name_iid", "uint"},
		11: {"track_uuid", "uint"}, 30: {"counter_value", "int"}, 44: {"double_counter_value", "double"},
		47: {"flow_ids", "fixed"}, 48: {"terminating_flow_ids", "fixed"}, 52: {"correlation_id", "uint"},
	},
	"DebugAnnotation": {
		1: {"name_iid", "uint"}, 2: {"bool_value", "uint"}, 3: {"uint_value", "uint"}, 4: {"int_value", "int"},
		5: {"double_value", "double"}, 6: {"string_value", "string"}, 7: {"pointer_value", "uint"},
		11: {"dict_entries", "DebugAnnotation"}, 12: {"array_values", "DebugAnnotation"},
	},
}

// node is a field of a message: its value, or the fields within it.
type node struct {
	name, value string
	num         uint64
	in          []node
}

func (n *node) get(name string) *node {
	for i := range n.in {
		if n.in[i].name == name {
			return &n.in[i]
		}
	}
	return nil
}

// uint returns the number of a field, 0 where there is none.
func (n *node) uint(name string) uint64 {
	if f := n.get(name); f != nil {
		return f.num
	}
	return 0
}

func decode(message string, b []byte) ([]node, error) {
	var out []node
	for len(b) > 0 {
		field, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		known, ok := schema[message][field]
		if !ok {
			return nil, fmt.Errorf("%s has no field %d", message, field)
		}
		x := node{name: known[0]}
		var raw []byte
		want := protowire.VarintType
		switch known[1] {
		case "uint", "int":
			x.num, n = protowire.ConsumeVarint(b)
		case "fixed", "double":
			x.num, n = protowire.ConsumeFixed64(b)
			want = protowire.Fixed64Type
		default:
			raw, n = protowire.ConsumeBytes(b)
			want = protowire.BytesType
		}
		if n < 0 || wire != want {
			return nil, fmt.Errorf("%s.%s: wire type %d: %v", message, x.name, wire, protowire.ParseError(n))
		}
		b = b[n:]
		switch known[1] {
		case "uint", "fixed":
			x.value = fmt.Sprint(x.num)
		case "int":
			x.value = fmt.Sprint(int64(x.num))
		case "double":
			x.value = fmt.Sprint(math.Float64frombits(x.num))
		case "string":
			x.value = fmt.Sprintf("%q", raw)
		default:
			var err error
			if x.in, err = decode(known[1], raw); err != nil {
				return nil, err
			}
		}
		out = append(out, x)
	}
	return out, nil
}

func show(b *strings.Builder, nodes []node) {
	for i, n := range nodes {
		if i > 0 {
			b.WriteByte(' ')
		}
		if n.value != "" {
			b.WriteString(n.name + ":" + n.value)
			continue
		}
		b.WriteString(n.name + "{")
		show(b, n.in)
		b.WriteByte('}')
	}
}

// packets returns the packets of a trace.
func packets(t testing.TB, data []byte) []node {
	t.Helper()
	nodes, err := decode("Trace", data)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// TestFileIsAsItWas guards against changes that nobody meant; what the file means is for the trace processor to say.
func TestFileIsAsItWas(t *testing.T) {
	data, _ := two().write(t)
	var b strings.Builder
	for _, p := range packets(t, data) {
		show(&b, p.in)
		b.WriteByte('\n')
	}
	filetest.Golden(t, filepath.Join("testdata", "two.txt"), b.String())
}

// drawn is a slice as the trace processor makes it of begins and ends on one track.
type drawn struct {
	name, track string
	begin, end  clock.HostTime
	depth       int
}

// draw does what the trace processor does: it takes events in order of their stamps, those of one stamp in the order of
// the file, and an end closes what was begun last on its track.
func draw(t testing.TB, data []byte) []drawn {
	t.Helper()
	var out []drawn
	names, tracks := map[uint64]string{}, map[uint64]string{}
	open := map[uint64][]int{}
	last := uint64(0)
	for _, p := range packets(t, data) {
		if d := p.get("track_descriptor"); d != nil && d.get("name") != nil {
			tracks[d.uint("uuid")] = d.get("name").value
		}
		if d := p.get("interned_data"); d != nil {
			if e := d.get("event_names"); e != nil {
				names[e.uint("iid")] = e.get("name").value
			}
		}
		e := p.get("track_event")
		if e == nil {
			continue
		}
		at := p.uint("timestamp")
		if at < last {
			t.Fatalf("an event at %d after one at %d", at, last)
		}
		last = at
		track := e.uint("track_uuid")
		if _, ok := tracks[track]; !ok {
			t.Fatalf("an event on track %d, which is not described before it", track)
		}
		stack := open[track]
		switch e.uint("type") {
		case 1:
			open[track] = append(stack, len(out))
			out = append(out, drawn{name: names[e.uint("name_iid")], track: tracks[track], begin: clock.HostTime(at), end: -1, depth: len(stack)})
		case 2:
			if len(stack) == 0 {
				t.Fatalf("an end at %d on track %s, where nothing is open", at, tracks[track])
			}
			out[stack[len(stack)-1]].end = clock.HostTime(at)
			open[track] = stack[:len(stack)-1]
		}
	}
	return out
}
