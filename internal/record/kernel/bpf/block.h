// What devices for blocks were asked, and when they had done it.

struct block {
	struct head head; // aux: bytes
	u64 sector;
	u32 device; // its number, as dev_t of the kernel
	u32 operation;
	s32 thread; // that asked; 0 at the end
	s32 error;  // at the end
	char name[16];
};

INLINE int block(struct request *rq, u16 kind, u32 bytes, s32 error)
{
	struct block *b = reserve(sizeof(*b), kind, bytes);
	if (!b)
		return 0;
	struct gendisk *disk = 0;
	struct request___old *old = (void *)rq;
	if (has(old->rq_disk))
		disk = old->rq_disk;
	else if (has(rq->q->disk))
		disk = rq->q->disk;
	b->sector = rq->__sector;
	b->operation = rq->cmd_flags & 0xff;
	b->thread = kind == BLOCK_RQ_ISSUE ? bpf_get_current_task_btf()->pid : 0;
	b->error = error;
	b->device = 0;
	b->name[0] = 0;
	if (disk) {
		b->device = disk->major << 20 | disk->first_minor;
		if (bpf_probe_read_kernel_str(b->name, sizeof(b->name), disk->disk_name) < 0)
			b->name[0] = 0;
	}
	submit(b);
	return 0;
}

PROGRAM(block_rq_issue, BLOCK_RQ_ISSUE, 1)
{
	if (queue_given) {
		struct request *rq = (void *)ctx[1];
		return block(rq, BLOCK_RQ_ISSUE, rq->__data_len, 0);
	}
	struct request *rq = (void *)ctx[0];
	return block(rq, BLOCK_RQ_ISSUE, rq->__data_len, 0);
}

PROGRAM(block_rq_complete, BLOCK_RQ_COMPLETE, 1)
{
	return block((void *)ctx[0], BLOCK_RQ_COMPLETE, ctx[2], (s32)ctx[1]);
}
