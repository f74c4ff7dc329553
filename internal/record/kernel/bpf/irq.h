// What interrupts: devices, the two softirqs of the network, and its polls.

struct poll {
	struct head head; // aux: packets done
	u64 napi;
	s32 budget;
	u32 pad;
	char device[16];
};

PROGRAM(napi_poll, NAPI_POLL, 1)
{
	struct napi_struct *napi = (void *)ctx[0];
	struct poll *p = reserve(sizeof(*p), NAPI_POLL, ctx[1]);
	if (!p)
		return 0;
	p->napi = (u64)napi;
	p->budget = ctx[2];
	p->pad = 0;
	struct net_device *dev = napi->dev;
	p->device[0] = 0;
	if (dev)
		bpf_probe_read_kernel(p->device, sizeof(p->device), &dev->name);
	submit(p);
	return 0;
}

enum { NET_TX = 2, NET_RX = 3 };

INLINE int of_network(u32 vector)
{
	return vector == NET_TX || vector == NET_RX;
}

INLINE int softirq(u16 kind, u32 vector)
{
	struct head *h = reserve(sizeof(*h), kind, vector);
	if (h)
		submit(h);
	return 0;
}

PROGRAM(softirq_entry, SOFTIRQ_ENTRY, of_network(ctx[0]))
{
	return softirq(SOFTIRQ_ENTRY, ctx[0]);
}

PROGRAM(softirq_exit, SOFTIRQ_EXIT, of_network(ctx[0]))
{
	return softirq(SOFTIRQ_EXIT, ctx[0]);
}

struct interrupt {
	struct head head; // aux: the interrupt's number
	char name[32];
};

PROGRAM(irq_handler_entry, IRQ_ENTRY, 1)
{
	struct irqaction *action = (void *)ctx[1];
	struct interrupt *i = reserve(sizeof(*i), IRQ_ENTRY, ctx[0]);
	if (!i)
		return 0;
	if (bpf_probe_read_kernel_str(i->name, sizeof(i->name), action->name) < 0)
		i->name[0] = 0;
	submit(i);
	return 0;
}

struct resume {
	struct head head; // aux: the interrupt's number
	s64 result;
};

PROGRAM(irq_handler_exit, IRQ_EXIT, 1)
{
	struct resume *r = reserve(sizeof(*r), IRQ_EXIT, ctx[0]);
	if (!r)
		return 0;
	r->result = (s32)ctx[2];
	submit(r);
	return 0;
}
