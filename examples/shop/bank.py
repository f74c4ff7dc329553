"""The bank of the example shop: it takes money by HTTP, and has no sensors. Its own log says how long each charge took.

    bank.py ADDRESS PORT NUMBERS EVERY thread|process

Every so many seconds it makes a report of so many numbers, in a thread or in a process of its own.
"""

import ctypes
import http.server
import multiprocessing
import random
import sys
import threading
import time


def name(text):
    """Names the thread, for the kernel too."""
    ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)


def report(numbers, every):
    """The report of the day: sorted() keeps the interpreter to itself until it is done."""
    name("report")
    takings = [random.random() for _ in range(numbers)]
    while True:
        time.sleep(every)
        sorted(takings)


class Bank(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer is one packet

    def setup(self):
        name("charge")
        super().setup()

    def do_POST(self):
        begin = time.perf_counter()
        order = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sum(i * i for i in range(10_000))  # checks the card
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.flush()
        print(f"order {order}: charged in {(time.perf_counter() - begin) * 1e3:.1f} ms", flush=True)

    def log_message(self, *_):
        pass


def main():
    address, port, numbers, every, where = sys.argv[1:]
    worker = {"thread": threading.Thread, "process": multiprocessing.Process}[where]
    worker(target=report, args=(int(numbers), float(every)), daemon=True).start()
    server = http.server.ThreadingHTTPServer((address, int(port)), Bank)
    print("open", flush=True)
    server.serve_forever()


main()
