"""The command line in this process: a new one would import numpy and scipy each time."""

import contextlib
import io
import subprocess
import sys
from unittest import mock

from tasuki import cli


def tasuki(*words) -> subprocess.CompletedProcess:
    """What `tasuki WORDS…` returns and writes."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["tasuki", *map(str, words)]),
    ):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
