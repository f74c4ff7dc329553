"""Adds what its phase add is given, and keeps the sum between phases."""

import meridian_daemon

total = 0


def add(n):
    global total
    total += n
    meridian_daemon.log(f"adds {n}")
    return {"sum": total}


meridian_daemon.serve({"add": add})
