package chrome

import (
	"bytes"
	"slices"
	"strconv"

	"meridian/clock"
	"meridian/format/internal/eventbuffer"
	"meridian/format/internal/pull"
	"meridian/trace"
)

// torch gathers the collectives of PyTorch's files. What they are is known only at the end of the file, where the last of
// what describes them stands.
type torch struct {
	rank, world int64 // of distributedInfo; -1 if it does not say
	groups      int64
	calls       []call
	described   map[int64]described // by External id: what the CPU's side says of a kernel's operation
	step        int64               // the first ProfilerStep; -1 for none
	launches    int64               // annotations of NCCL on the CPU's side
	kernels     int64
}

// described is what args say of an operation.
type described struct {
	op       operation
	group    string // its name, and its ranks as they stand in the file
	ranks    string
	seq      int64 // -1: not given
	src, dst int64 // the peer of a message; -1: not given
	uneven   bool  // an all-to-all in which some may send nothing to some
	external int64
}

// call is one operation, on the graphics processor or, for Gloo, on the CPU.
type call struct {
	described
	kernel     operation // as the kernel's name says
	start, end clock.HostTime
	item, row  int32
}

// operation is what a collective does.
type operation uint8

const (
	unknown operation = iota
	allReduce
	allGather
	reduceScatter
	allToAll
	barrier
	send
	receive
	early // lets members go before all have entered
)

func (o operation) String() string {
	return [...]string{"unknown", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier", "send", "recv", "early"}[o]
}

func newTorch() torch {
	return torch{rank: -1, world: -1, groups: -1, step: -1, described: make(map[int64]described)}
}

// info takes note of distributedInfo.
func (t *torch) info(raw []byte) {
	pull.Members(raw, func(name, v []byte) bool {
		n, ok := pull.Decimal[int64](v, 0)
		if !ok {
			return true
		}
		switch string(name) {
		case "rank":
			t.rank = n
		case "world_size":
			t.world = n
		case "pg_count":
			t.groups = n
		}
		return true
	})
}

// slice looks at a slice that was added last.
func (t *torch) slice(r *reader, end int64, row int) {
	e := &r.event
	switch {
	case bytes.HasPrefix(e.name, []byte("nccl")) || bytes.HasPrefix(e.name, []byte("rccl")):
		if bytes.HasPrefix(e.name[4:], []byte(":")) {
			t.launches++
			return
		}
		if !bytes.EqualFold(e.cat, []byte("kernel")) {
			return
		}
		t.kernels++
	case bytes.HasPrefix(e.name, []byte("gloo:")):
	case string(e.name) == "record_param_comms":
		if d := e.describe(); d.external >= 0 && d.op != unknown {
			t.described[d.external] = d
		}
		return
	default:
		if number, found := bytes.CutPrefix(e.name, []byte("ProfilerStep#")); found {
			if n, ok := integer(number); ok && len(number) < 19 && (t.step < 0 || n < t.step) {
				t.step = n
			}
		}
		return
	}
	t.calls = append(t.calls, call{described: e.describe(), kernel: operationOf(e.name), start: e.ts, end: clock.HostTime(end), item: int32(r.b.Len() - 1), row: int32(row)})
}

// describe reads the args that tell of an operation.
func (e *event) describe() described {
	d := described{seq: -1, src: -1, dst: -1, external: -1}
	pull.Members(e.args, func(name, v []byte) bool {
		number := func(to *int64) {
			if n, ok := pull.Decimal[int64](v, 0); ok {
				*to = n
			}
		}
		switch string(name) {
		case "Collective name":
			d.op = operationOf(e.text(v))
			if d.op == unknown && len(v) > 2 {
				d.op = early
			}
		case "Process Group Name":
			d.group = string(e.text(v))
		case "Process Group Ranks":
			d.ranks = string(e.text(v))
		case "Seq":
			number(&d.seq)
		case "Src Rank":
			number(&d.src)
		case "Dst Rank":
			number(&d.dst)
		case "External id", "external id":
			number(&d.external)
		case "In split size", "Out split size":
			d.uneven = d.uneven || maybeNothing(e.text(v))
		}
		return true
	})
	return d
}

// maybeNothing says whether a list of sizes has a zero, or is cut, so that it may have.
func maybeNothing(list []byte) bool {
	if bytes.Contains(list, []byte("...")) {
		return true
	}
	for _, size := range bytes.FieldsFunc(list, func(c rune) bool { return c < '0' || c > '9' }) {
		if string(size) == "0" {
			return true
		}
	}
	return false
}

// operationOf knows an operation by a name: nccl:all_reduce, _allgather_base, ncclDevKernel_ReduceScatter_Sum_f32_RING_LL.
func operationOf(name []byte) operation {
	letters := make([]byte, 0, 64)
	for _, c := range name {
		if c == '(' || len(letters) == cap(letters) {
			break // arguments of a kernel
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' {
			letters = append(letters, c)
		}
	}
	has := func(s string) bool { return bytes.Contains(letters, []byte(s)) }
	switch {
	case has("sparse"):
		return early
	case has("allreduce"):
		return allReduce
	case has("allgather"):
		return allGather
	case has("reducescatter"):
		return reduceScatter
	case has("alltoall"):
		return allToAll
	case has("barrier"):
		return barrier
	case has("broadcast"), has("reduce"), has("gather"), has("scatter"):
		return early
	case has("sendrecv"):
		return unknown
	case string(letters) == "send":
		return send
	case string(letters) == "recv":
		return receive
	}
	return unknown
}

// numbered names operations of one kind that are told apart by their order alone.
type numbered struct {
	op            operation
	group, ranks  string
	seq, src, dst int64
}

// finish marks the members' entries and departures, and the ends of messages.
func (t *torch) finish(r *reader, m *trace.Marks) {
	var of []numbered
	var calls []call
	ungrouped, uneven := int64(0), int64(0)
	for _, c := range t.calls {
		if d, known := t.described[c.external]; known && c.op == unknown {
			c.described = d
		}
		if c.kernel == early { // many operations are made of broadcasts or reductions
			continue
		}
		if c.op == unknown {
			c.op = c.kernel
		}
		if c.op == unknown || c.op == early {
			continue
		}
		if c.uneven && c.op == allToAll {
			uneven++
			continue
		}
		if c.group == "" && t.world != 2 && t.groups != 1 {
			ungrouped++
			continue
		}
		n := numbered{op: c.op, group: c.group, ranks: c.ranks, seq: c.seq, src: -1, dst: -1}
		if c.op == send || c.op == receive {
			n.op, n.seq = send, -1 // a sender counts its own
			if n.src, n.dst = t.rank, c.dst; c.op == receive {
				n.src, n.dst = c.src, t.rank
			}
			if n.src < 0 || n.dst < 0 {
				ungrouped++
				continue
			}
		}
		calls, of = append(calls, c), append(of, n)
	}
	order := make([]int, len(calls))
	total := make(map[numbered]int)
	for i := range order {
		order[i] = i
		total[of[i]]++
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case calls[a].start < calls[b].start:
			return -1
		case calls[a].start > calls[b].start:
			return 1
		}
		return 0
	})
	index := make(map[numbered]int)
	byOrder := int64(0)
	for _, i := range order {
		n := of[i]
		index[n]++
		if n.seq < 0 {
			byOrder++
		}
		t.mark(r, m, &calls[i], n, index[n], total[n])
	}
	t.warn(r, byOrder, ungrouped, uneven)
}

// mark adds the ends of one operation, which is the how-manieth of so many of its kind.
func (t *torch) mark(r *reader, m *trace.Marks, c *call, n numbered, index, total int) {
	step := ""
	if n.seq < 0 {
		step = strconv.FormatInt(t.step, 10)
	}
	text := func(x int64) string { return strconv.FormatInt(x, 10) }
	key := trace.KeyOf("nccl", text(t.world), n.group, n.ranks, n.op.String(), text(n.seq), text(n.src), text(n.dst),
		strconv.Itoa(index), strconv.Itoa(total), step)
	add := func(at int64, role trace.Role) {
		m.Marks = append(m.Marks, trace.Mark{Time: clock.HostTime(at), Key: key, Stream: int(c.row), Role: role})
	}
	switch c.op {
	case send:
		add(int64(c.start), trace.Sends)
		it := r.b.Item(int(c.item))
		it.Flow, it.Role = eventbuffer.Flow(key), trace.Sends
	case receive:
		add(int64(c.end), trace.Receives)
		it := r.b.Item(int(c.item))
		it.EndFlow, it.EndRole = eventbuffer.Flow(key), trace.Receives
	default:
		add(int64(c.start), trace.Enters)
		add(int64(c.end), trace.Leaves)
	}
}

func (t *torch) warn(r *reader, byOrder, ungrouped, uneven int64) {
	if byOrder > 0 {
		r.w.AddN(r.path, "collectives without a sequence number, joined by their order: files must have been recorded over the same steps", "", byOrder)
	}
	if ungrouped > 0 {
		r.w.AddN(r.path, "collectives left out: group or peer not recorded", "", ungrouped)
	}
	if uneven > 0 {
		r.w.AddN(r.path, "all-to-alls left out: a member may have sent nothing to another", "", uneven)
	}
	if t.launches > 0 && t.kernels == 0 {
		r.w.AddN(r.path, "collectives left out: only their launch was recorded; record GPU activity too", "", t.launches)
	}
}
