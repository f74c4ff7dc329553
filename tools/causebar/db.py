# The database: it answers, and sleeps or syncs its file first where a request says so.
import os, socket, struct, sys, time

from common import delayed, read

c, _ = socket.create_server((sys.argv[1], 7001)).accept()
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
synced = os.open(sys.argv[2], os.O_WRONLY)
before = delayed()
try:
    while True:
        b = read(c, 16)
        kind = struct.unpack('!IIQ', b)[1]
        if kind == 1:
            time.sleep(0.030)
        if kind == 6:
            end = time.monotonic() + 0.025
            while time.monotonic() < end:
                os.pwrite(synced, bytes(4096), 0)
                os.fsync(synced)
        now = delayed()
        print(struct.unpack('!IIQ', b)[0], now - before)
        before = now
        c.sendall(b)
except EOFError:
    pass
