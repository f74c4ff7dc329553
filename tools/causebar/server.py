# The server: it asks the database for each request, and is slow as a request says. One processor is kept busy for "run queue".
import os, socket, struct, sys, threading, time

from common import connect, delayed, read

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def compete():
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            end = time.monotonic() + 0.06
            while time.monotonic() < end:
                pass
            os._exit(0)
        children.append(child)
    return children

lock = threading.Lock()
want, held, over = threading.Event(), threading.Event(), False

def holder():
    while True:
        want.wait()
        want.clear()
        if over:
            return
        with lock:
            held.set()
            time.sleep(0.025)

thread = threading.Thread(target=holder)
thread.start()
db = connect((sys.argv[2], 7001))
db.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
listener = socket.create_server((sys.argv[1], 7000))
c, _ = listener.accept()
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
before = delayed()
everywhere = os.sched_getaffinity(0)
try:
    while True:
        number, kind, more = struct.unpack('!IIQ', read(c, 16))
        children = []
        if more:
            read(c, more)
        if kind == 2:
            want.set()
            held.wait()
            held.clear()
        if kind == 3:
            burn(0.020)
        if kind == 4:
            os.sched_setaffinity(0, {max(everywhere)})
            children = compete()
            time.sleep(0.004)
            burn(0.010)
        with lock:
            burn(0.0005)
        db.sendall(struct.pack('!IIQ', number, kind, 0))
        read(db, 16)
        now = delayed()
        print(number, now - before)
        before = now
        c.sendall(struct.pack('!IIQ', number, kind, 0))
        for child in children:
            os.waitpid(child, 0)
        if children:
            os.sched_setaffinity(0, everywhere)
except EOFError:
    pass
over = True
want.set()
db.close()
thread.join()
