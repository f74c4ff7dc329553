// The kernel may pass a tracepoint and run no program: the event interrupts the same program on its processor, or the kernel
// hides the process that it interrupts from tracers. So perf counts each tracepoint too, on each processor, and each program
// compares that count with the number of its own runs.

struct audit {
	u64 runs;    // of the program since perf began to count
	u64 checked; // jiffies of the last comparison
	s64 missed;  // perf's count less the runs, then
	u32 raised;  // missed grew in the last comparison
	u32 failed;  // perf's count could not be read, since the processor was offline
};
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, KINDS);
	KIND(key, u32);
	KIND(value, struct audit);
} audits SEC(".maps");

// ran is called at the beginning of each program. perf's own probe of a tracepoint comes before the program's, since it was
// registered before, so that its count includes the event.
//
// An interrupt between the two probes may run the program for an event of its own, which finds the outer event counted and not
// run yet: missed is one too many until the outer program compares again, which it does because raised is set. Kernels that
// let a program interrupt itself may change the runs here too. Else one comparison in each jiffy is enough. Runs before perf
// begins to count are forgotten.
INLINE void ran(u32 kind, void *counter)
{
	struct audit *a;
	if (!audited || !(a = bpf_map_lookup_elem(&audits, &kind)))
		return;
	__sync_fetch_and_add(&a->runs, 1);
	u64 now = bpf_jiffies64();
	if (a->checked == now && !a->raised)
		return;
	u64 runs = *(volatile u64 *)&a->runs;
	u64 count = bpf_perf_event_read(counter, CURRENT_CPU);
	if ((s64)count < 0) { // an errno: a processor that came online later
		a->failed = 1;
		return;
	}
	if (runs != *(volatile u64 *)&a->runs) {
		a->raised = 1;
		return;
	}
	if (!count) {
		a->runs = 0;
		return;
	}
	s64 missed = count - runs;
	a->raised = missed > a->missed;
	a->missed = missed;
	a->checked = now;
}

// PROGRAM begins the program of a tracepoint, for the events that satisfy a condition, which perf's filter states as well.
// Its perf counters are there for as many processors as there can be, which the loader knows.
#define PROGRAM(name, kind, condition)                                                                                           \
	struct {                                                                                                                 \
		NUMBER(type, MAP_PERF_EVENT_ARRAY);                                                                              \
		NUMBER(max_entries, 1 << 16);                                                                                    \
		KIND(key, u32);                                                                                                  \
		KIND(value, u32);                                                                                                \
	} count_##name SEC(".maps");                                                                                             \
	INLINE int on_##name(u64 *ctx);                                                                                          \
	SEC("tp_btf/" #name) int name(u64 *ctx)                                                                                  \
	{                                                                                                                        \
		if (!(condition))                                                                                                \
			return 0;                                                                                                \
		ran(kind, &count_##name);                                                                                        \
		return on_##name(ctx);                                                                                           \
	}                                                                                                                        \
	INLINE int on_##name(u64 *ctx)
