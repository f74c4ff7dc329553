# What the three programs share: messages of a fixed length over connections.
import os, socket, sys, time

def delayed():
    """How long the threads of this process have waited for a processor, ns (schedstat)."""
    total = 0
    for thread in os.listdir('/proc/self/task'):
        try:
            with open('/proc/self/task/%s/schedstat' % thread) as f:
                total += int(f.read().split()[1])
        except (OSError, IndexError):
            pass # it has ended
    return total

def read(c, n):
    b = b''
    while len(b) < n:
        x = c.recv(n - len(b))
        if not x:
            raise EOFError
        b += x
    return b

def connect(address):
    for _ in range(600):
        try:
            return socket.create_connection(address)
        except OSError:
            time.sleep(0.1)
    sys.exit('no connection to %s:%d' % address)
