"""A driver as a process: `driver.py SPEC` asks for all runs once and says how it ended.

`driver.py forks` forks such drivers for each line on its standard input, and prints their process
ids and then their exit statuses: importing torch takes seconds, and forking does not.
"""

import json
import os
import sys

import drill

from bn_memorization import run_kinds
from bn_memorization.errors import BadInput, Failure


def main(spec: str) -> int:
    try:
        drill.drive(spec)
    except (BadInput, Failure) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def fork_for_each_line() -> None:
    for config in drill.RUNS:
        run_kinds.address(config)  # reads the data, once for all
    print("ready", flush=True)
    for line in sys.stdin:
        own = json.loads(line)
        children = []
        for _ in range(int(own.pop("drivers"))):
            children.append(os.fork())
            if children[-1] == 0:
                become(own)
        print(*children, flush=True)
        ends = [os.waitpid(child, 0)[1] for child in children]
        print(*map(os.waitstatus_to_exitcode, ends), flush=True)


def become(own: dict[str, str]) -> None:
    """Be the driver with these variables and end with its status."""
    status = 1
    try:
        with open(own.pop("said"), "a") as said:
            sys.stderr = said
            os.environ |= own
            status = main("serial")
    finally:
        os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "forks":
        fork_for_each_line()
    else:
        sys.exit(main(sys.argv[1]))
