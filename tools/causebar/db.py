# The database: it answers, and sleeps first where a request says so.
import socket, struct, sys, time

from common import delayed, read

c, _ = socket.create_server((sys.argv[1], 7001)).accept()
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
before = delayed()
try:
    while True:
        b = read(c, 16)
        if struct.unpack('!IIQ', b)[1] == 1:
            time.sleep(0.030)
        now = delayed()
        print(struct.unpack('!IIQ', b)[0], now - before)
        before = now
        c.sendall(b)
except EOFError:
    pass
