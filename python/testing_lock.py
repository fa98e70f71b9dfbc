"""For tests: whether a call gives up the interpreter's lock."""

import sys
import threading


def others_run(call, times):
    """Returns whether another thread ran during one of so many calls."""
    went = threading.Event()
    ran = []

    def other():
        went.wait()
        ran.append(True)
    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    thread.start()
    # No thread gets the lock unless another one gives it up.
    sys.setswitchinterval(1e6)
    try:
        went.set()
        for _ in range(times):
            call()
            if ran:
                break
        return bool(ran)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
