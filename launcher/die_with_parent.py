"""Run a command that the kernel ends when the parent of this process dies:

    python die_with_parent.py PARENT-PID SIGNAL COMMAND [ARGUMENT …]

The kernel sends SIGNAL when the parent dies, even by `kill -9`. This is a separate program because Python code between
fork and exec is not safe if the parent has threads. It uses only the standard library: it runs with `python -I -S`.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, signal, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # the parent died before prctl
        sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
