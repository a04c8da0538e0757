"""Run as a script, by path: become another program which the kernel kills when the starting thread ends.

    python -I -S bound_exec.py PARENT_PID PROGRAM [ARGUMENT...]

Between fork and exec, in a process with threads, Python code (`preexec_fn`) may deadlock; here it is a process of its
own, so it may do what it likes, and exec keeps its process id. See prctl(2), PR_SET_PDEATHSIG.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind, check that the parent is still there (it may have died before we were bound), and exec."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone")
    os.execv(program[0], program)  # noqa: S606, no shell is meant


if __name__ == "__main__":
    main()
