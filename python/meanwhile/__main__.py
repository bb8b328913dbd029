"""The program ``meanwhile``: what the package installs as a command, and ``python -m meanwhile``."""

import signal
import sys

from meanwhile import _native


def main():
    # The program handles Ctrl-C by itself, with a checkpoint.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_program(['meanwhile', *sys.argv[1:]])


if __name__ == '__main__':
    sys.exit(main())
