// The recorder's half in the kernel: a program for each tracepoint writes a record into the ring of its processor.
//
// A record's stamp is taken when its room in the ring is reserved: what interrupts the program afterwards lies behind it
// in the ring. What interrupts it between the two lies behind it with an earlier stamp, and is committed before it is,
// which is what the reader puts in order (order.go). layout.go reads the structures below.
#include "kernel.h"

char terms[] SEC("license") = "GPL"; // the helpers ask for it

// Set before the program is loaded.
const volatile u32 only_followed; // processes in followed, or in the cgroup
const volatile u64 only_cgroup;   // its id, and all below it; 0 for none
const volatile u32 only_netns;    // inode of a network namespace; 0 for all
const volatile u32 tell_sched;    // the programs that follow children write records too
const volatile u32 own_process;   // whose system calls are left out: each drain of a ring makes some
const volatile u32 state_given; // to sched_switch, as its fourth argument
const volatile u32 preempt_known;  // the kernel has the preemption counter in a variable of each processor,
const volatile u32 preempt_offset; // so far behind its begin
const volatile u32 depth_known;    // the programs depth_... count
const volatile u64 comm_mask[2], comm_want[2];
const volatile u32 queue_given;    // to block_rq_issue, before the request: before 5.12
const volatile u32 recv_flags_at, recv_result_at; // in what the probe of tcp_recvmsg's end is given
const volatile u32 audited; // perf counts the tracepoints too
volatile u32 attached;      // all programs are

enum kind {
	NET_DEV_QUEUE = 1, NETIF_RECEIVE_SKB, NAPI_POLL, SOFTIRQ_ENTRY, SOFTIRQ_EXIT, IRQ_ENTRY, IRQ_EXIT, SCHED_SWITCH,
	SCHED_WAKING, SCHED_WAKEUP, SCHED_WAKEUP_NEW, PROCESS_FORK, PROCESS_EXEC, PROCESS_EXIT, PROCESS_FREE, SYS_ENTER, SYS_EXIT,
	TCP_SENDMSG, TCP_RECVMSG, BLOCK_RQ_ISSUE, BLOCK_RQ_COMPLETE,
	KINDS,
};

struct head {
	u64 stamp; // CLOCK_MONOTONIC
	u16 kind;
	u16 flags;
	u32 aux;
};

struct ring {
	NUMBER(type, MAP_RINGBUF);
	NUMBER(max_entries, 4096);
};
struct {
	NUMBER(type, MAP_ARRAY_OF_MAPS);
	NUMBER(max_entries, 1);
	KIND(key, u32);
	__attribute__((unused)) struct ring *values[];
} rings SEC(".maps");

struct counts {
	u64 lost;       // records for which there was no room
	u64 unfollowed; // processes for which followed had none
	u64 unwoken;    // wake-ups of which no program told
};
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	KIND(key, u32);
	KIND(value, struct counts);
} counted SEC(".maps");

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 16384);
	KIND(key, u32);
	KIND(value, u8);
} followed SEC(".maps");

// What is known of a followed thread's sleep. Each byte is written for itself, as several processors do at a time.
struct sleep {
	u8 asleep, waking, woken;
};
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 16384);
	KIND(key, u32);
	KIND(value, struct sleep);
} sleeps SEC(".maps");

INLINE struct counts *counts(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&counted, &zero);
}

INLINE void *reserve(u64 size, u16 kind, u32 aux)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct head *h = ring ? bpf_ringbuf_reserve(ring, size, 0) : 0;
	if (!h) {
		struct counts *c = counts();
		if (c)
			__sync_fetch_and_add(&c->lost, 1); // an interrupt may count here too
		return 0;
	}
	h->stamp = bpf_ktime_get_ns();
	h->kind = kind;
	h->flags = 0;
	h->aux = aux;
	return h;
}

// The reader looks by itself every few ms; waking it for each record would cost more than the record.
INLINE void submit(void *record)
{
	bpf_ringbuf_submit(record, RB_NO_WAKEUP);
}

INLINE int in_cgroup(struct task_struct *t)
{
	struct cgroup *c = t->cgroups->dfl_cgrp;
	for (int depth = 0; depth < 16 && c; depth++) {
		if (c->kn->id == only_cgroup)
			return 1;
		struct cgroup_subsys_state *up = c->self.parent;
		if (!up)
			return 0;
		c = up->cgroup;
	}
	return 0;
}

INLINE int wanted(struct task_struct *t)
{
	if (!only_followed)
		return 1;
	u32 process = t->tgid;
	if (bpf_map_lookup_elem(&followed, &process))
		return 1;
	return only_cgroup && in_cgroup(t);
}

INLINE void follow(u32 process)
{
	u8 yes = 1;
	struct counts *c;
	if (bpf_map_update_elem(&followed, &process, &yes, 0) && (c = counts()))
		__sync_fetch_and_add(&c->unfollowed, 1);
}

#include "audit.h"
#include "net.h"
#include "sched.h"
#include "irq.h"
#include "calls.h"
#include "socket.h"
#include "block.h"
