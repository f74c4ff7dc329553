"""Print the events of a session by server-sent events; nothing but Python's library is needed.

    meridian server --timeline on --http 127.0.0.1:8090
    python3 subscribe.py http://127.0.0.1:8090/sessions/SESSION/events
"""
import sys, time, urllib.request

if len(sys.argv) != 2:
    sys.exit(__doc__)
last = ""  # where to resume
try:
    while True:
        try:
            request = urllib.request.Request(sys.argv[1], headers={"Last-Event-ID": last} if last else {})
            kind = ""
            for line in urllib.request.urlopen(request, timeout=60):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    last = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    print(value, file=sys.stdout if kind == "" else sys.stderr, flush=True)
                elif name == "":
                    kind = ""
        except BrokenPipeError:
            sys.exit(0)  # whoever reads the events has ended
        except OSError as fault:
            print(fault, file=sys.stderr)
        time.sleep(1)  # the server is away, or the session has not begun
except KeyboardInterrupt:
    pass
