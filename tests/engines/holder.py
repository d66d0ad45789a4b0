"""A whole program that launches the stubborn engine, says `ready`, and waits to be ended.

holder.py LOCK stay|escape
"""

import sys
import time
from pathlib import Path

from paretoken.engines.launch import launch_program
from paretoken.engines.script import ScriptedSettings

if __name__ == "__main__":
    argv = [sys.executable, str(Path(__file__).with_name("stubborn.py")), *sys.argv[1:]]
    orders = {"settings": ScriptedSettings().as_json()}
    with launch_program("stubborn", argv, orders, model_name="m", engine_args={}, grace_s=0.2):
        print("ready", flush=True)
        time.sleep(600)
