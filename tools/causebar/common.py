# What the three programs share: messages of a fixed length over connections.
import socket, sys, time

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
