// Packets: their headers as they stand in the buffer, for the reader to take apart.

struct packet {
	struct head head; // aux: length of the buffer
	u64 buffer;
	u32 netns;
	u8 version;   // of IP: 4, 6, or 0 for what is none
	u8 transport; // protocol of the transport header, if that is here
	u16 pad;
	char device[16];
};
struct packet4 {
	struct packet packet;
	u8 network[20], transport[20];
};
struct packet6 {
	struct packet packet;
	u8 network[40], transport[20];
};

enum { TCP = 6, UDP = 17, ICMP = 1, ICMP6 = 58 };

INLINE u32 transport_size(u8 protocol)
{
	if (protocol == TCP)
		return 20;
	return protocol == UDP || protocol == ICMP || protocol == ICMP6 ? 8 : 0;
}

INLINE void fill(struct packet *p, struct sk_buff *skb, struct net_device *dev, u32 netns, u8 version)
{
	p->buffer = (u64)skb;
	p->netns = netns;
	p->version = version;
	p->transport = 0;
	p->pad = 0;
	bpf_probe_read_kernel(p->device, sizeof(p->device), &dev->name);
}

// transport copies what is behind the IP header, if it is in the buffer's linear part. Size is 20 or less.
INLINE u8 transport(u8 *to, u8 protocol, u8 *from, u8 *end)
{
	u32 size = transport_size(protocol);
	if (!size || from + size > end)
		return 0;
	if (size == 20)
		return bpf_probe_read_kernel(to, 20, from) ? 0 : protocol;
	return bpf_probe_read_kernel(to, 8, from) ? 0 : protocol;
}

INLINE int packet(struct sk_buff *skb, u16 kind, u8 *at)
{
	struct net_device *dev = skb->dev;
	if (!dev)
		return 0;
	u32 netns = dev->nd_net.net->ns.inum;
	if (only_netns && netns != only_netns)
		return 0;

	u8 *end = skb->head + skb->tail;
	u16 protocol = __builtin_bswap16(skb->protocol);
	if (protocol == 0x8100 || protocol == 0x88a8) { // VLAN
		if (kind == NETIF_RECEIVE_SKB) {
			u16 inner = 0;
			bpf_probe_read_kernel(&inner, 2, at + 2);
			protocol = __builtin_bswap16(inner);
			at += 4;
		} else { // the network header is known; its first bits tell which
			u8 first = 0;
			bpf_probe_read_kernel(&first, 1, at);
			protocol = first >> 4 == 4 ? 0x0800 : first >> 4 == 6 ? 0x86dd : 0;
		}
	}
	if (protocol == 0x0800 && at + 20 <= end) {
		struct packet4 *p = reserve(sizeof(*p), kind, skb->len);
		if (!p)
			return 0;
		fill(&p->packet, skb, dev, netns, 4);
		if (bpf_probe_read_kernel(p->network, sizeof(p->network), at))
			p->packet.version = 0;
		u32 size = (p->network[0] & 15) * 4;
		u16 fragment = (p->network[6] & 0x1f) << 8 | p->network[7];
		if (p->packet.version && size >= 20 && !fragment)
			p->packet.transport = transport(p->transport, p->network[9], at + size, end);
		submit(p);
		return 0;
	}
	if (protocol == 0x86dd && at + 40 <= end) {
		struct packet6 *p = reserve(sizeof(*p), kind, skb->len);
		if (!p)
			return 0;
		fill(&p->packet, skb, dev, netns, 6);
		if (bpf_probe_read_kernel(p->network, sizeof(p->network), at))
			p->packet.version = 0;
		else
			p->packet.transport = transport(p->transport, p->network[6], at + 40, end);
		submit(p);
		return 0;
	}
	struct packet *p = reserve(sizeof(*p), kind, skb->len);
	if (!p)
		return 0;
	fill(p, skb, dev, netns, 0);
	submit(p);
	return 0;
}

PROGRAM(net_dev_queue, NET_DEV_QUEUE, 1)
{
	struct sk_buff *skb = (void *)ctx[0];
	return packet(skb, NET_DEV_QUEUE, skb->head + skb->network_header);
}

// Here the network header is not noted yet: the data begin with it.
PROGRAM(netif_receive_skb, NETIF_RECEIVE_SKB, 1)
{
	struct sk_buff *skb = (void *)ctx[0];
	return packet(skb, NETIF_RECEIVE_SKB, skb->data);
}
