"""A fake engine that is hard to get rid of: it serves HTTP, and a child of it ignores SIGTERM. Both hold a file lock.

stubborn.py LOCK stay|escape     (escape: the child leaves for a session of its own)
"""

import asyncio
import fcntl
import subprocess
import sys
from pathlib import Path

from paretoken.engines.child import orders
from paretoken.engines.scripted_server import serve

SLEEPER = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    time.sleep(60)
"""

if __name__ == "__main__":
    with Path(sys.argv[1]).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        subprocess.Popen(
            [sys.executable, "-c", SLEEPER, sys.argv[1]],
            pass_fds=(lock.fileno(),),
            start_new_session=sys.argv[2] == "escape",
        )
        asyncio.run(serve(orders()))
