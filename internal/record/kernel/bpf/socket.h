// What threads wrote to and read from TCP connections: which thread, which bytes.

struct transfer {
	struct head head; // aux: bytes; flags: PEEKED
	s32 thread, process;
	u32 netns;
	u32 seq;  // of the first byte
	u16 port, peer_port;
	u16 family;
	u16 pad;
	u8 local[16], peer[16]; // IPv4 has 4 of these
};

enum { INET = 2, INET6 = 10, MSG_PEEK = 2, PEEKED = 1, RCV_SHUTDOWN = 1 };

// The bytes are counted back from where the connection is when the call ends: of several threads that write to a connection at the same
// time, or read from it, the one may be given what the other did.
INLINE int transfer(struct sock *sk, u16 kind, s32 result, u32 peeked)
{
	struct task_struct *t = bpf_get_current_task_btf();
	if (result <= 0 || sk->sk_protocol != TCP || t->tgid == own_process || !wanted(t))
		return 0;
	u16 family = sk->__sk_common.skc_family;
	u32 netns = sk->__sk_common.skc_net.net->ns.inum;
	if ((family != INET && family != INET6) || (only_netns && netns != only_netns))
		return 0;
	struct transfer *x = reserve(sizeof(*x), kind, result);
	if (!x)
		return 0;
	struct tcp_sock *tcp = (void *)sk;
	u32 seq = 0, next = 0;
	if (kind == TCP_SENDMSG) {
		bpf_probe_read_kernel(&seq, sizeof(seq), &tcp->write_seq);
	} else {
		bpf_probe_read_kernel(&seq, sizeof(seq), &tcp->copied_seq);
		bpf_probe_read_kernel(&next, sizeof(next), &tcp->rcv_nxt);
		if ((sk->sk_shutdown & RCV_SHUTDOWN) && seq == next && !peeked)
			seq--; // the FIN has a sequence number of its own
	}
	x->head.flags = peeked ? PEEKED : 0;
	x->thread = t->pid;
	x->process = t->tgid;
	x->netns = netns;
	x->seq = peeked ? seq : seq - (u32)result;
	x->port = sk->__sk_common.skc_num;
	x->peer_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	x->family = family;
	x->pad = 0;
	if (family == INET) {
		bpf_probe_read_kernel(x->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(x->peer, 4, &sk->__sk_common.skc_daddr);
	} else {
		bpf_probe_read_kernel(x->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(x->peer, 16, &sk->__sk_common.skc_v6_daddr);
	}
	submit(x);
	return 0;
}

// Tracepoints since 6.3, at the end of the calls of all protocols.
PROGRAM(sock_send_length, TCP_SENDMSG, 1)
{
	return transfer((void *)ctx[0], TCP_SENDMSG, ctx[1], 0);
}

PROGRAM(sock_recv_length, TCP_RECVMSG, 1)
{
	return transfer((void *)ctx[0], TCP_RECVMSG, ctx[1], ctx[2] & MSG_PEEK);
}

// Before, the ends of TCP's functions, where the kernel can attach there.
SEC("fexit/tcp_sendmsg") int end_tcp_sendmsg(u64 *ctx)
{
	return transfer((void *)ctx[0], TCP_SENDMSG, ctx[3], 0);
}

// tcp_recvmsg has had other arguments since 5.19, and again later.
SEC("fexit/tcp_recvmsg") int end_tcp_recvmsg(u64 *ctx)
{
	s32 flags = recv_flags_at == 3 ? ctx[3] : ctx[4], result = 0;
	if (recv_result_at == 4)
		result = ctx[4];
	else if (recv_result_at == 5)
		result = ctx[5];
	else if (recv_result_at == 6)
		result = ctx[6];
	return transfer((void *)ctx[0], TCP_RECVMSG, result, flags & MSG_PEEK);
}
