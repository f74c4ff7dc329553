package chrome

import (
	"fmt"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// kernel is a kernel of NCCL as PyTorch's profiler writes it; args as kineto has them.
func kernel(name string, ts float64, args string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "%s(ncclDevComm*, unsigned long, ncclWork*)", "pid": 0, "tid": 17, "ts": %.3f, "dur": 10.000,
 "args": {"queued": 0, "device": 0, "context": 1, "stream": 17, "grid": [2, 1, 1], "block": [288, 1, 1]%s}}`, name, ts, args)
}

// comms are the args that tell of a collective.
func comms(name, more string) string {
	return `, "Collective name": "` + name + `", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"` + more
}

// rankFile is the events of a rank, whose clock is off by so many ms.
func rankFile(rank int, off float64) string {
	peer := []string{`, "Dst Rank": 1`, `, "Src Rank": 0`}[rank]
	op := []string{"send", "recv"}[rank]
	return strings.Join([]string{
		fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":1,"tid":1,"ts":%.3f,"dur":900}`, off*1000),
		fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"nccl:all_reduce","pid":1,"tid":1,"ts":%.3f,"dur":2}`, off*1000),
		kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", off*1000+100, comms("allreduce", `, "Seq": 7`)),
		kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", off*1000+120, comms("allreduce", "")),
		kernel("ncclDevKernel_Broadcast_RING_LL", off*1000+140, comms("broadcast", `, "Seq": 8`)),
		kernel("ncclDevKernel_Broadcast_RING_LL", off*1000+160, comms("_allgather_base", `, "Seq": 9`)),
		kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", off*1000+180, comms("_reduce_scatter_base", `, "Seq": 10`)),
		kernel("ncclDevKernel_SendRecv", off*1000+200, comms("all_to_all", `, "Seq": 11, "In split size": "[]", "Out split size": "[]"`)),
		kernel("ncclDevKernel_SendRecv", off*1000+220, comms("all_to_allv", `, "Seq": 12, "In split size": "[0, 8]"`)),
		kernel("ncclDevKernel_SendRecv", off*1000+240, comms(op, fmt.Sprintf(`, "Seq": %d`, 13+rank)+peer)),
		`{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id": 77` + comms("allgather", `, "Seq": 20`) + `}}`,
		kernel("ncclDevKernel_Generic_4", off*1000+260, `, "External id": 77`),
	}, ",\n")
}

func rankOf(t *testing.T, rank int, off float64, more string) (*File, []string) {
	t.Helper()
	f, warnings, err := parse(fmt.Sprintf(`{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":8,"pg_count":3},"traceEvents":[%s%s]}`, rank, rankFile(rank, off), more))
	if err != nil {
		t.Fatal(err)
	}
	return f, warnings
}

func TestRanksMeetInTheirCollectives(t *testing.T) {
	a, warnings := rankOf(t, 0, 0, "")
	b, _ := rankOf(t, 1, 50, "")
	if len(warnings) != 2 || !strings.Contains(warnings[0], "joined by their order") || !strings.Contains(warnings[1], "all-to-alls left out") {
		t.Errorf("%q", warnings)
	}
	// Microseconds of entry and departure, or of sending, of each operation that is left.
	want := [][2]int64{{100, 110}, {120, 130}, {180, 190}, {200, 210}, {240, 0}, {260, 270}}
	marks := a.Marks().Marks
	peers := make(map[trace.Key][]trace.Mark)
	for _, m := range b.Marks().Marks {
		peers[m.Key] = append(peers[m.Key], m)
	}
	keys := make(map[trace.Key]bool)
	for _, w := range want {
		if w[1] == 0 {
			if marks[0].Role != trace.Sends || marks[0].Time != clock.HostTime(w[0]*1000) {
				t.Fatalf("%+v, want %v", marks[0], w)
			}
			if p := peers[marks[0].Key]; len(p) != 1 || p[0].Role != trace.Receives || p[0].Time != clock.HostTime((w[0]+10+50_000)*1000) {
				t.Errorf("a message has %+v at its other end", p)
			}
			keys[marks[0].Key] = true
			marks = marks[1:]
			continue
		}
		if marks[0].Role != trace.Enters || marks[1].Role != trace.Leaves || marks[0].Time != clock.HostTime(w[0]*1000) || marks[1].Time != clock.HostTime(w[1]*1000) || marks[0].Key != marks[1].Key {
			t.Fatalf("%+v, want %v", marks[:2], w)
		}
		if p := peers[marks[0].Key]; len(p) != 2 || p[0].Time != clock.HostTime((w[0]+50_000)*1000) {
			t.Errorf("a collective at %d has %+v on the other rank", w[0], p)
		}
		keys[marks[0].Key] = true
		marks = marks[2:]
	}
	if len(marks) > 0 || len(keys) != len(want) {
		t.Errorf("%+v more, %d keys", marks, len(keys))
	}
}

func TestFilesOfOtherStepsDoNotMeetByOrder(t *testing.T) {
	keys := func(f *File) map[trace.Key]bool {
		m := make(map[trace.Key]bool)
		for _, x := range f.Marks().Marks {
			m[x.Key] = true
		}
		return m
	}
	a, _ := rankOf(t, 0, 0, "")
	longer, _ := rankOf(t, 1, 0, ","+kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 700, comms("allreduce", "")))
	later, _, err := parse(fmt.Sprintf(`{"distributedInfo":{"rank":1,"world_size":8,"pg_count":3},"traceEvents":[%s]}`, strings.Replace(rankFile(1, 0), "ProfilerStep#5", "ProfilerStep#6", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*File{"longer": longer, "later": later} {
		shared := 0
		for k := range keys(f) {
			if keys(a)[k] {
				shared++
			}
		}
		want := 4 // those with a sequence number: all-reduce, reduce-scatter, all-to-all, all-gather
		if name == "longer" {
			want = 5 // and the message
		}
		if shared != want {
			t.Errorf("%s: %d operations meet, want %d", name, shared, want)
		}
	}
}

func TestKernelsOfNoGroupMeetOnlyWhereThereIsOne(t *testing.T) {
	for info, want := range map[string]int{
		`{"rank":0,"world_size":8}`:              0,
		`{"rank":0,"world_size":8,"pg_count":2}`: 0,
		`{"rank":0,"world_size":8,"pg_count":1}`: 2,
		`{"rank":0,"world_size":2}`:              2,
	} {
		f, warnings, err := parse(`{"distributedInfo":` + info + `,"traceEvents":[` + kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 1, "") + `]}`)
		if err != nil || len(f.Marks().Marks) != want || len(warnings) != 1 {
			t.Errorf("%s: %v, %v, %q", info, f.Marks().Marks, err, warnings)
		}
	}
}

func TestALaunchSaysNothing(t *testing.T) {
	f, warnings, err := parse(`[{"ph":"X","cat":"user_annotation","name":"nccl:all_reduce","pid":1,"tid":1,"ts":1,"dur":2}]`)
	if err != nil || len(f.Marks().Marks) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "only their launch was recorded") {
		t.Errorf("%v, %q", err, warnings)
	}
}

func TestOperationsByName(t *testing.T) {
	for name, want := range map[string]operation{
		"allreduce": allReduce, "nccl:all_reduce": allReduce, "allreduce_coalesced": allReduce, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": allReduce,
		"_allgather_base": allGather, "all_gather": allGather, "allgather_into_tensor_coalesced": allGather,
		"_reduce_scatter_base": reduceScatter, "reduce_scatter_tensor_coalesced": reduceScatter, "ncclDevKernel_ReduceScatter_Sum_f32": reduceScatter,
		"all_to_all": allToAll, "all_to_allv": allToAll, "alltoall_base": allToAll, "barrier": barrier, "send": send, "recv": receive,
		"broadcast": early, "_broadcast_oop": early, "reduce": early, "_reduce_oop": early, "gather": early, "scatter": early, "allreduce_sparse": early,
		"ncclDevKernel_Broadcast_RING_LL": early, "ncclDevKernel_Reduce_Sum_f32": early, "ncclDevKernel_SendRecv": unknown, "wait": unknown, "": unknown,
	} {
		if got := operationOf([]byte(name)); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
