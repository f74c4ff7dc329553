package kernel

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// drawType draws the shape of a field and a value that need not fit it.
func drawType(t *rapid.T, depth int) (typ trace.Type, v trace.Value) {
	kinds := []trace.ValueKind{trace.None, trace.Bool, trace.Int, trace.Uint, trace.Float, trace.Text, trace.Bytes, trace.Array, trace.Struct, trace.Variant}
	if depth == 0 {
		kinds = kinds[:7]
	}
	typ.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
	v.Kind = typ.Kind
	if rapid.IntRange(0, 9).Draw(t, "astray") == 0 {
		v.Kind = rapid.SampledFrom(kinds).Draw(t, "other kind")
	}
	v.Bits = rapid.SampledFrom([]uint64{0, 1, 2, 5, 1 << 31, 1 << 63, ^uint64(0)}).Draw(t, "bits")
	v.Data = rapid.SliceOfN(rapid.Byte(), 0, 17).Draw(t, "data")
	if depth == 0 {
		return typ, v
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		name := rapid.SampledFrom([]string{"ipv4", "ipv6", "tcp", "udp", "saddr", "daddr", "version", "ihl", "tot_len", "protocol", "seq", "transport_header"}).Draw(t, "part")
		part, item := drawType(t, depth-1)
		typ.Fields = append(typ.Fields, trace.Field{Name: name, Type: part})
		v.Items = append(v.Items, item)
	}
	v.Items = v.Items[:rapid.IntRange(0, len(v.Items)).Draw(t, "items")]
	return typ, v
}

func TestNoTraceMakesItPanicOrLeavesSlicesOpen(t *testing.T) {
	names := []string{"sched_switch", "syscall_entry_x", "syscall_exit_x", "exit_syscall", "sys_y", "irq_handler_entry", "irq_handler_exit",
		"net_dev_queue", "netif_receive_skb", "tcpv4_rcv_extended", "inet_sock_local_in", "lttng_statedump_process_state", "sched_process_fork",
		"sched_process_exec", "sched_process_exit", "a_start", "a_end", "sched_wakeup"}
	fields := []string{"cpu_id", "tid", "prev_tid", "next_tid", "next_comm", "prev_comm", "irq", "vec", "name", "pid", "child_tid", "child_pid", "filename",
		"vtid", "vpid", "procname", "saddr", "daddr", "seq", "ack_seq", "flags", "network_header", "skbaddr"}
	testseed.Check(t, func(t *rapid.T) {
		z := new(script).cpus(rapid.IntRange(0, 2).Draw(t, "processors"))
		for range rapid.IntRange(1, 6).Draw(t, "classes") {
			c := trace.Class{Name: rapid.SampledFrom(names).Draw(t, "class"), Context: rapid.IntRange(-1, 9).Draw(t, "context")}
			var values []trace.Value
			for range rapid.IntRange(0, 8).Draw(t, "fields") {
				typ, v := drawType(t, 3)
				c.Fields = append(c.Fields, trace.Field{Name: rapid.SampledFrom(fields).Draw(t, "field"), Type: typ})
				values = append(values, v)
			}
			z.classes = append(z.classes, c)
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				z.events = append(z.events, scripted{trace.Event{Time: clock.HostTime(rapid.Int64().Draw(t, "time")), Stream: rapid.IntRange(-1, 3).Draw(t, "stream"),
					Class: len(z.classes) - 1}, values[:rapid.IntRange(0, len(values)).Draw(t, "values")]})
			}
		}
		told(t, z)
		z.at = 0
		if _, err := Packets(z, "h", "f", nil, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkPackets(b *testing.B) {
	z := oneFlow(10_000)
	for b.Loop() {
		z.at = 0
		if _, err := Packets(z, "h", "f", nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/event")
}
