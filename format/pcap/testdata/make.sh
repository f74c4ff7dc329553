#!/bin/bash
# Makes the captures of this directory anew: see README.md. Needs root, for a network of its own.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
a=meridian-a b=meridian-b
cleanup() {
	[ -z "$(jobs -p)" ] || kill $(jobs -p) 2>/dev/null || true
	ip netns del $a 2>/dev/null || true
	ip netns del $b 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

ip netns add $a
ip netns add $b

# A cable between two TAP devices that carries segmentation offload as network cards and virtual machines do.
cat > "$work/cable.py" <<'PY'
import ctypes, fcntl, os, select, struct
libc = ctypes.CDLL(None, use_errno=True)
def tap(namespace, name):
    with open("/run/netns/" + namespace) as n:
        assert libc.setns(n.fileno(), 0) == 0
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", name, 0x5002))  # TUNSETIFF: TAP, no packet info, virtio header
    fcntl.ioctl(fd, 0x400454d0, 7)                                      # TUNSETOFFLOAD: checksum, TSO for IPv4 and IPv6
    return fd
a, b = tap("meridian-a", b"va"), tap("meridian-b", b"vb")
while True:
    for fd in select.select([a, b], [], [])[0]:
        os.write(b if fd == a else a, os.read(fd, 1 << 17))
PY
python3 "$work/cable.py" &
cable=$!
until ip -n $b link show vb > /dev/null 2>&1; do sleep 0.05; done
for side in a b; do
	[ $side = a ] && n=1 || n=2
	at="ip -n meridian-$side"
	$at link set lo up
	$at link set v$side address 02:00:00:00:00:0$side
	$at link set v$side up
	$at addr add 10.1.0.$n/24 dev v$side
	$at addr add fd00:1::$n/64 dev v$side nodad
done

cat > "$work/talk.py" <<'PY'
import os, socket, struct, sys, threading, time

def sum16(b):
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff

def serve(family, addr, port):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, port))
    s.listen()
    c, _ = s.accept()
    c.recv(100)
    c.sendall(bytes(i * 7 % 256 for i in range(70000)))
    c.close()

def echo(family, addr, port, n):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((addr, port))
    for _ in range(n):
        data, who = s.recvfrom(65000)
        s.sendto(data[::-1], who)

def fetch(family, addr, port):
    s = socket.create_connection((addr, port))
    s.send(b"GET / HTTP/1.0\r\n\r\n")
    while s.recv(65536):
        pass
    s.close()

def ask(family, addr, port, sizes):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(2)
    for n in sizes:
        s.sendto(bytes((i * 5 + n) % 256 for i in range(n)), (addr, port))
        s.recvfrom(65000)

sizes = [0, 3, 31, 32, 33, 500, 4000]
jobs = [(socket.AF_INET, "10.1.0.2"), (socket.AF_INET6, "fd00:1::2")]
if sys.argv[1] == "server":
    for family, addr in jobs:
        threading.Thread(target=serve, args=(family, addr, 8080)).start()
        threading.Thread(target=echo, args=(family, addr, 53, len(sizes))).start()
else:
    for family, addr in jobs:
        fetch(family, addr, 8080)
        ask(family, addr, 53, sizes)
    p = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for seq in range(3):
        body = struct.pack(">BBHHH", 8, 0, 0, 4242, seq) + bytes(range(48))
        body = body[:2] + struct.pack(">H", sum16(body)) + body[4:]
        p.sendto(body, ("10.1.0.2", 0))
    p = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    for seq in range(3):
        p.sendto(struct.pack(">BBHHH", 128, 0, 0, 4242, seq) + bytes(range(20)), ("fd00:1::2", 0))
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.sendto(b"nobody listens", ("10.1.0.2", 9))   # answered by an ICMP error
    g = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)
    g.sendto(b"an experimental protocol over IP", ("10.1.0.2", 0))
    v = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    v.bind(("va", 0))
    udp = struct.pack(">HHHH", 1234, 53, 8 + 40, 0) + bytes(range(40))
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 77, 0, 64, 17, 0, bytes([10, 7, 0, 1]), bytes([10, 7, 0, 2]))
    ip = ip[:10] + struct.pack(">H", sum16(ip)) + ip[12:]
    ends = bytes.fromhex("02000000000b02000000000a")
    v.send(ends + bytes.fromhex("810000070800") + ip + udp)
    time.sleep(0.2)
PY

start() { # NETNS FILE ARGS...
	local ns=$1 file=$2
	shift 2
	ip netns exec $ns tcpdump -Z root -U -q --immediate-mode -w "$file" "$@" 2> "$file.log" &
	until grep -q "listening on" "$file.log"; do sleep 0.05; done
}
start $a "$work/us.pcap" -i va -s 100
start $b "$work/ns.pcap" -i vb -s 74 --time-stamp-precision=nano
start $a "$work/sll.pcap" -i any -y LINUX_SLL -s 120
start $b "$work/sll2.pcap" -i any -y LINUX_SLL2 -s 120
ip netns exec $b python3 "$work/talk.py" server &
server=$!
sleep 1
ip netns exec $a python3 "$work/talk.py" client
wait $server
sleep 0.5
kill -INT $(pgrep -P $$ tcpdump)
sleep 0.5
kill $cable
wait

# tcpdump
cp "$work/us.pcap" tcpdump-us.pcap
cp "$work/ns.pcap" tcpdump-ns.pcap
cp "$work/sll.pcap" tcpdump-sll.pcap
cp "$work/sll2.pcap" tcpdump-sll2.pcap
# editcap, mergecap
editcap -F pcapng -r tcpdump-us.pcap "$work/some.pcapng" 1-40
editcap -F modpcap -r tcpdump-us.pcap editcap-modified.pcap 1-40
editcap -F nsecpcap -r -s 60 tcpdump-ns.pcap editcap-cut60.pcap 1-60
printf 'CLIENT_RANDOM 00 00\n' > "$work/keys"
editcap -F pcapng -a "2:seen by the first" -a "5:and the fifth, with a longer comment" --inject-secrets "tls,$work/keys" \
	"$work/some.pcapng" editcap-comments.pcapng
mergecap -F pcapng -w mergecap-two.pcapng tcpdump-us.pcap tcpdump-sll.pcap
gzip -9 -n -c tcpdump-us.pcap > gzip.pcap.gz
zstd -q -19 -c editcap-comments.pcapng > zstd.pcapng.zst
# text2pcap: directions, link types
printf 'I\n0000 45 00 00 1c 00 01 00 00 40 11 00 00 0a 00 00 01\n0010 0a 00 00 02 04 d2 00 35 00 08 00 00\n
O\n0000 60 00 00 00 00 08 11 40 fd 00 00 00 00 00 00 00\n0010 00 00 00 00 00 00 00 01 fd 00 00 00 00 00 00 00\n0020 00 00 00 00 00 00 00 02 04 d2 00 35 00 08 00 00\n' > "$work/raw.txt"
text2pcap -q -n -D -l 101 "$work/raw.txt" text2pcap-raw.pcapng 2> /dev/null
text2pcap -q -F pcap -l 101 "$work/raw.txt" text2pcap-raw.pcap 2> /dev/null
text2pcap -q -n -u 1234,53 "$work/raw.txt" text2pcap-udp.pcapng 2> /dev/null

{
	echo "# Captures made by other people's tools"
	echo
	echo "Made by make.sh, which needs root and is the one way to change them, with"
	echo
	tcpdump --version 2>&1 | head -2 | sed 's/^/- /'
	for t in editcap mergecap text2pcap; do $t --version 2> /dev/null | head -1 | sed "s/^/- $t: /"; done
	gzip --version | head -1 | sed 's/^/- /'
	zstd --version | grep -o 'v[0-9.]*' | head -1 | sed 's/^/- zstd /'
	echo
	echo "The traffic is that of two network namespaces: TCP with segmentation offload over IPv4 and IPv6, UDP of"
	echo "0 to 4000 bytes (so fragments too), ICMP and ICMPv6 echoes and errors, protocol 253, and a"
	echo "frame in a VLAN."
	echo
	echo "| file | packets |"
	echo "|---|---|"
	for f in *.pcap *.pcapng *.gz *.zst; do
		echo "| $f | $(capinfos -M -c -T -r "$f" | cut -f2) |"
	done
	cat << 'END'

## encapsulated

`encapsulated/all.pcapng` holds the same 14 packets in every encapsulation that package `internal/encapsulation` makes, an interface for
each. `go test ./format/pcap -run Encapsulation -update` writes it anew. A test has tshark find the packets inside.
END
} > README.md
