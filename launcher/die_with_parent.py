"""Run a command that dies with the process that started this one:

    python die_with_parent.py PARENT-PID SIGNAL COMMAND [ARGUMENT …]

The kernel sends SIGNAL when the parent is gone, even by `kill -9`. Done in a program of its own because between fork
and exec of a threaded parent no Python is safe. Only the standard library: it is run with `python -I -S`.
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
    if os.getppid() != parent:  # it was gone before the kernel was asked
        sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
