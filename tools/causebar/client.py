# The client: one request after the other, of the kinds that it is told. Kind 5 writes twice, so that the second write waits for an
# acknowledgement of the first (Nagle), which the server delays.
import socket, struct, sys, time

from common import connect, read

c = connect((sys.argv[1], 7000))
for number, kind in enumerate(map(int, sys.argv[2])):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(kind != 5))
    if kind == 5:
        c.send(struct.pack('!IIQ', number, kind, 64))
        c.send(b'y' * 64)
    else:
        c.send(struct.pack('!IIQ', number, kind, 0))
    read(c, 16)
    time.sleep(0.005 + (number * 7 % 10) / 1000)
