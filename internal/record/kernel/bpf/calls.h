// System calls of the processes that are followed.

enum { COMPAT = 1 }; // by the numbers of 32-bit programs

struct call {
	struct head head; // aux: its number
	s32 thread, process;
	char comm[16];
	u64 arguments[6];
};
struct back {
	struct head head; // aux: the call's number
	s32 thread, process;
	s64 result;
};

INLINE u16 flags_of(struct task_struct *t)
{
	if (has(t->thread_info.status)) // x86: TS_COMPAT
		return t->thread_info.status & 2 ? COMPAT : 0;
	return 0;
}

INLINE int uninteresting(struct task_struct *t)
{
	return t->tgid == own_process || !wanted(t);
}

PROGRAM(sys_enter, SYS_ENTER, 1)
{
	struct task_struct *t = bpf_get_current_task_btf();
	if (uninteresting(t))
		return 0;
	struct call *c = reserve(sizeof(*c), SYS_ENTER, ctx[1]);
	if (!c)
		return 0;
	c->head.flags = flags_of(t);
	c->thread = t->pid;
	c->process = t->tgid;
	bpf_probe_read_kernel(c->comm, 16, &t->comm);
	struct pt_regs___x86 *x = (void *)ctx[0];
	struct pt_regs___arm *a = (void *)ctx[0];
	if (has(x->di)) {
		c->arguments[0] = x->di;
		c->arguments[1] = x->si;
		c->arguments[2] = x->dx;
		c->arguments[3] = x->r10;
		c->arguments[4] = x->r8;
		c->arguments[5] = x->r9;
	} else if (has(a->regs)) {
		c->arguments[0] = a->regs[0];
		c->arguments[1] = a->regs[1];
		c->arguments[2] = a->regs[2];
		c->arguments[3] = a->regs[3];
		c->arguments[4] = a->regs[4];
		c->arguments[5] = a->regs[5];
	}
	submit(c);
	return 0;
}

PROGRAM(sys_exit, SYS_EXIT, 1)
{
	struct task_struct *t = bpf_get_current_task_btf();
	if (uninteresting(t))
		return 0;
	struct pt_regs___x86 *x = (void *)ctx[0];
	struct pt_regs___arm *a = (void *)ctx[0];
	u32 number = -1; // and so it is at the end of rt_sigreturn, which restores what a signal had interrupted
	if (has(x->orig_ax))
		number = x->orig_ax;
	else if (has(a->syscallno))
		number = a->syscallno;
	struct back *b = reserve(sizeof(*b), SYS_EXIT, number);
	if (!b)
		return 0;
	b->head.flags = flags_of(t);
	b->thread = t->pid;
	b->process = t->tgid;
	b->result = ctx[1];
	submit(b);
	return 0;
}
