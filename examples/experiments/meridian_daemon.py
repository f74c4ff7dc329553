"""A daemon of 'meridian run' in Python: phases are functions of a dictionary of parameters that return a result.

    import meridian_daemon
    def send(count=10):
        return {"messages": count}
    meridian_daemon.serve({"send": send})

Phases run one after the other. A phase that raises an exception has failed. Print to standard error, or call log().
"""

import json
import sys
import time


def _say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def log(text):
    """Writes a line to the log of the daemon."""
    _say({"log": str(text)})


def _sleep_until(at_ns):
    """Sleeps to an instant of CLOCK_MONOTONIC, at which the phase begins on all hosts; not for long, whatever it says."""
    left = at_ns - time.monotonic_ns()
    if 0 < left < 2_000_000_000:
        time.sleep(left / 1e9)


def serve(phases):
    """Waits for phases and does them until the experiment ends."""
    _say({"waiting": sorted(phases), "at": True})
    for line in sys.stdin:
        call = json.loads(line)
        _sleep_until(call.get("at_ns", 0))
        try:
            result = phases[call["phase"]](**call.get("with", {}))
            _say({"done": call["start"], "result": result})
        except Exception as e:  # whatever it is, it is the reason
            _say({"failed": call["start"], "error": f"{type(e).__name__}: {e}"})
