# The database: it answers, and sleeps or syncs its file first where a request says so.
import os, socket, struct, sys, time

from common import delayed, read

def waited():
    """How long this thread has waited for a processor, ns, and for anything else."""
    with open('/proc/thread-self/schedstat') as f:
        queued = int(f.read().split()[1])
    return queued, time.monotonic_ns() - time.thread_time_ns() - queued

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
        synced_for = ''
        if kind == 6:
            begun = waited()
            end = time.monotonic() + 0.025
            while time.monotonic() < end:
                os.pwrite(synced, bytes(4096), 0)
                os.fsync(synced)
            synced_for = '%d %d' % tuple(now - then for now, then in zip(waited(), begun))
        now = delayed()
        print(struct.unpack('!IIQ', b)[0], now - before, synced_for)
        before = now
        c.sendall(b)
except EOFError:
    pass
