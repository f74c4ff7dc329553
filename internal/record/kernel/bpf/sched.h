// The scheduler, for the processes that are followed; and the following of their children.

struct change {
	struct head head; // flags: 1 and 2 if the one before and the one after are followed
	s32 from, to, from_priority, to_priority;
	s64 state; // in which the one before was left
	char from_comm[16], to_comm[16];
};

enum { PREEMPTED = 0x100 }; // TASK_REPORT_MAX: it would go on
enum { STATES = 0xff | 0x400 | 0x1000 }; // and TASK_NOLOAD, TASK_RTLOCK_WAIT

INLINE s64 state_of(struct task_struct *t)
{
	if (has(t->__state))
		return t->__state;
	struct task_struct___old *old = (void *)t;
	return has(old->state) ? old->state : 0;
}

// Where all wake-ups of the machine are counted by perf, those of followed threads are not among others. A followed thread
// that ran again after it had slept was woken: wake-ups for which no program ran are known by that. A thread sleeps when it is
// off the queue, which it gets back on when it has been switched away from, by sched_wakeup. sched_waking may come before the
// switch. One that finds the thread running is followed by sched_wakeup at once.
INLINE struct sleep *sleep_of(struct task_struct *t)
{
	u32 thread = t->pid;
	return bpf_map_lookup_elem(&sleeps, &thread);
}

INLINE int is_off_queue(struct task_struct *t)
{
	return !t->on_rq || (has(t->se.sched_delayed) && t->se.sched_delayed);
}

INLINE void falls_asleep(struct task_struct *t)
{
	struct sleep none = {}, *s;
	u32 thread = t->pid;
	if (!only_followed || !attached || !thread || !is_off_queue(t))
		return;
	bpf_map_update_elem(&sleeps, &thread, &none, NOEXIST);
	if ((s = sleep_of(t))) {
		s->woken = 0;
		s->asleep = 1;
	}
}

INLINE void runs_again(struct task_struct *t)
{
	struct sleep *s;
	struct counts *c;
	if (!only_followed || !(s = sleep_of(t)) || !s->asleep)
		return;
	u64 unwoken = !s->waking + !s->woken;
	s->asleep = s->waking = s->woken = 0;
	if (unwoken && attached && (c = counts()))
		__sync_fetch_and_add(&c->unwoken, unwoken);
}

INLINE void is_woken(struct task_struct *t, u16 kind)
{
	struct sleep none = {}, *s;
	u32 thread = t->pid;
	if (!only_followed || kind == SCHED_WAKEUP_NEW)
		return;
	if (kind == SCHED_WAKING)
		bpf_map_update_elem(&sleeps, &thread, &none, NOEXIST);
	if (!(s = sleep_of(t)))
		return;
	if (kind == SCHED_WAKING)
		s->waking = 1;
	else if (s->asleep)
		s->woken = 1;
	else
		s->waking = 0;
}

// Who has a processor for which followed threads wait: its switches are recorded as long as one waits there. A thread waits in one
// queue at a time, so what a missed event leaves behind lasts until the thread waits or runs again, or ends.
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 16384);
	KIND(key, u32);
	KIND(value, u32); // processor
} queued SEC(".maps");
struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	KIND(key, u32); // processor
	KIND(value, u32);
} waiters SEC(".maps");

INLINE void waits(u32 cpu, u32 change)
{
	u32 *n = bpf_map_lookup_elem(&waiters, &cpu);
	if (n)
		__sync_fetch_and_add(n, change);
}

INLINE void leaves_queue(u32 thread)
{
	u32 *cpu = bpf_map_lookup_elem(&queued, &thread);
	if (!cpu)
		return;
	u32 was = *cpu;
	if (!bpf_map_delete_elem(&queued, &thread)) // one of several at a time
		waits(was, -1);
}

INLINE void joins_queue(u32 thread, u32 cpu)
{
	if (!only_followed || !thread)
		return;
	leaves_queue(thread);
	if (!bpf_map_update_elem(&queued, &thread, &cpu, NOEXIST))
		waits(cpu, 1);
}

INLINE int is_waited_for(void)
{
	u32 cpu = bpf_get_smp_processor_id(), *n = bpf_map_lookup_elem(&waiters, &cpu);
	return n && *n;
}

// It writes no record.
SEC("tp_btf/sched_migrate_task") int sched_migrate_task(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 thread = t->pid;
	if (bpf_map_lookup_elem(&queued, &thread))
		joins_queue(thread, ctx[1]);
	return 0;
}

PROGRAM(sched_switch, SCHED_SWITCH, 1)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u16 from = wanted(prev), to = wanted(next);
	u32 waited_for = only_followed && is_waited_for();
	if (!from && !to && !waited_for)
		return 0;
	if (from) {
		falls_asleep(prev);
		if (!is_off_queue(prev))
			joins_queue(prev->pid, bpf_get_smp_processor_id());
		else if (only_followed)
			leaves_queue(prev->pid); // it was woken before it slept
	}
	if (to) {
		runs_again(next);
		if (only_followed)
			leaves_queue(next->pid);
	}
	struct change *c = reserve(sizeof(*c), SCHED_SWITCH, 0);
	if (!c)
		return 0;
	c->head.flags = from | to << 1;
	c->from = prev->pid;
	c->to = next->pid;
	c->from_priority = prev->prio;
	c->to_priority = next->prio;
	// What the thread says of its state may be of later: another processor may be waking it by now.
	c->state = (ctx[0] & 1) ? PREEMPTED : (state_given ? (u32)ctx[3] : state_of(prev)) & STATES;
	bpf_probe_read_kernel(c->from_comm, 16, &prev->comm);
	bpf_probe_read_kernel(c->to_comm, 16, &next->comm);
	submit(c);
	return 0;
}

struct wake {
	struct head head; // aux: the processor where it will run
	s32 thread, priority;
	char comm[16];
};
struct waking {
	struct wake wake;
	s32 waker; // the current thread, which an interrupt may have interrupted
	u32 context;
};

// The context of a wake-up, as bits of the preemption counter tell it (linux/preempt.h).
enum { CONTEXT_UNKNOWN, CONTEXT_THREAD, CONTEXT_SOFTIRQ, CONTEXT_HARDIRQ, CONTEXT_NMI };
enum { IN_SOFTIRQ = 1 << 8, IN_HARDIRQ = 15 << 16, IN_NMI = 15 << 20 };

// The loader puts the type of the kernel's per-processor counter in place of this number, where the kernel has one.
#define COUNTER_TYPE 0x4d65726964696131ull

// Kernels that list no addresses of variables (without CONFIG_KALLSYMS_ALL) do not say where the counter is. Then programs of their own
// count how deep in interrupts each processor is.
struct depth {
	u32 soft, hard;
};
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	KIND(key, u32);
	KIND(value, struct depth);
} depths SEC(".maps");

INLINE struct depth *depth(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&depths, &zero);
}

#define DEPTH(tracepoint, member, change)                              \
	SEC("tp_btf/" #tracepoint) int depth_##tracepoint(u64 *ctx)    \
	{                                                              \
		struct depth *d = depth();                             \
		if (d && (change > 0 || d->member > 0))                \
			d->member += change;                           \
		return 0;                                              \
	}

DEPTH(softirq_exit, soft, -1)
DEPTH(softirq_entry, soft, 1)
DEPTH(irq_handler_exit, hard, -1)
DEPTH(irq_handler_entry, hard, 1)
DEPTH(local_timer_exit, hard, -1)
DEPTH(local_timer_entry, hard, 1)

INLINE u32 context(void)
{
	u32 count = 0;
	if (depth_known) {
		struct depth *d = depth();
		return !d ? CONTEXT_UNKNOWN : d->hard ? CONTEXT_HARDIRQ : d->soft ? CONTEXT_SOFTIRQ : CONTEXT_THREAD;
	}
	struct thread_info___counts *own = (void *)bpf_get_current_task_btf();
	if (preempt_known) {
		u64 type = COUNTER_TYPE;
		__asm__ volatile("" : "+r"(type));
		bpf_probe_read_kernel(&count, sizeof(count), bpf_this_cpu_ptr((void *)type) + preempt_offset);
	} else if (!has(own->preempt_count) || bpf_probe_read_kernel(&count, sizeof(count), &own->preempt_count)) {
		return CONTEXT_UNKNOWN;
	}
	return count & IN_NMI ? CONTEXT_NMI : count & IN_HARDIRQ ? CONTEXT_HARDIRQ : count & IN_SOFTIRQ ? CONTEXT_SOFTIRQ : CONTEXT_THREAD;
}

INLINE u32 processor_of(struct task_struct *t)
{
	if (has(t->thread_info.cpu))
		return t->thread_info.cpu;
	struct task_struct___old *old = (void *)t;
	return has(old->cpu) ? old->cpu : 0;
}

INLINE void fill_wake(struct wake *w, struct task_struct *t)
{
	w->thread = t->pid;
	w->priority = t->prio;
	bpf_probe_read_kernel(w->comm, 16, &t->comm);
}

INLINE int wake(struct task_struct *t, u16 kind)
{
	if (!wanted(t))
		return 0;
	is_woken(t, kind);
	struct wake *w = reserve(sizeof(*w), kind, processor_of(t));
	if (!w)
		return 0;
	fill_wake(w, t);
	submit(w);
	joins_queue(t->pid, processor_of(t)); // its wake-up is recorded before the switches there
	return 0;
}

PROGRAM(sched_waking, SCHED_WAKING, 1)
{
	struct task_struct *t = (void *)ctx[0];
	if (!wanted(t))
		return 0;
	is_woken(t, SCHED_WAKING);
	struct waking *w = reserve(sizeof(*w), SCHED_WAKING, processor_of(t));
	if (!w)
		return 0;
	fill_wake(&w->wake, t);
	w->waker = bpf_get_current_task_btf()->pid;
	w->context = context();
	submit(w);
	return 0;
}

PROGRAM(sched_wakeup, SCHED_WAKEUP, 1)
{
	return wake((void *)ctx[0], SCHED_WAKEUP);
}

PROGRAM(sched_wakeup_new, SCHED_WAKEUP_NEW, 1)
{
	return wake((void *)ctx[0], SCHED_WAKEUP_NEW);
}

struct fork {
	struct head head;
	s32 parent, parent_process, child, child_process;
	char parent_comm[16], child_comm[16];
};

PROGRAM(sched_process_fork, PROCESS_FORK, 1)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	if (!wanted(parent))
		return 0;
	if (only_followed && child->tgid != parent->tgid)
		follow(child->tgid);
	if (!tell_sched)
		return 0;
	struct fork *f = reserve(sizeof(*f), PROCESS_FORK, 0);
	if (!f)
		return 0;
	f->parent = parent->pid;
	f->parent_process = parent->tgid;
	f->child = child->pid;
	f->child_process = child->tgid;
	bpf_probe_read_kernel(f->parent_comm, 16, &parent->comm);
	bpf_probe_read_kernel(f->child_comm, 16, &child->comm);
	submit(f);
	return 0;
}

struct life {
	struct head head;
	s32 thread, priority;
	char comm[16];
};
struct exec {
	struct life life; // priority: the thread's number before
	char file[256];
};

PROGRAM(sched_process_exec, PROCESS_EXEC, 1)
{
	struct task_struct *t = (void *)ctx[0];
	struct linux_binprm *program = (void *)ctx[2];
	u64 comm[2] = {};
	bpf_probe_read_kernel(comm, 16, &t->comm);
	if (comm_mask[0] && (comm[0] & comm_mask[0]) == comm_want[0] && (comm[1] & comm_mask[1]) == comm_want[1])
		follow(t->tgid);
	if (!tell_sched || !wanted(t))
		return 0;
	struct exec *e = reserve(sizeof(*e), PROCESS_EXEC, 0);
	if (!e)
		return 0;
	e->life.thread = t->pid;
	e->life.priority = ctx[1];
	__builtin_memcpy(e->life.comm, comm, 16);
	if (bpf_probe_read_kernel_str(e->file, sizeof(e->file), program->filename) < 0)
		e->file[0] = 0;
	submit(e);
	return 0;
}

INLINE void life(struct task_struct *t, u16 kind)
{
	if (!tell_sched || !wanted(t))
		return;
	struct life *l = reserve(sizeof(*l), kind, 0);
	if (!l)
		return;
	l->thread = t->pid;
	l->priority = t->prio;
	bpf_probe_read_kernel(l->comm, 16, &t->comm);
	submit(l);
}

PROGRAM(sched_process_exit, PROCESS_EXIT, 1)
{
	life((void *)ctx[0], PROCESS_EXIT);
	return 0;
}

// A process is forgotten with its last thread, not when it ends: it is still switched away from then.
PROGRAM(sched_process_free, PROCESS_FREE, 1)
{
	struct task_struct *t = (void *)ctx[0];
	life(t, PROCESS_FREE);
	u32 process = t->tgid, thread = t->pid;
	if (only_followed) {
		bpf_map_delete_elem(&sleeps, &thread);
		leaves_queue(thread);
	}
	if (only_followed && t->pid == t->tgid)
		bpf_map_delete_elem(&followed, &process);
	return 0;
}
