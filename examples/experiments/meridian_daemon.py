"""A daemon of 'meridian run' in Python: phases are functions of a dictionary of parameters that return a result.

    import meridian_daemon
    def send(count=10):
        return {"messages": count}
    meridian_daemon.serve({"send": send})

Phases run one after the other. A phase that raises an exception has failed. Print to standard error, or call log().
"""

import json
import sys


def _say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def log(text):
    """Writes a line to the log of the daemon."""
    _say({"log": str(text)})


def serve(phases):
    """Waits for phases and does them until the experiment ends."""
    _say({"waiting": sorted(phases)})
    for line in sys.stdin:
        call = json.loads(line)
        try:
            result = phases[call["phase"]](**call.get("with", {}))
            _say({"done": call["start"], "result": result})
        except Exception as e:  # whatever it is, it is the reason
            _say({"failed": call["start"], "error": f"{type(e).__name__}: {e}"})
