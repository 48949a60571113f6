"""The commands of spam that are written in Python: libexec/tasuki/spam-tools runs this file."""

import runpy

runpy.run_module("spam_tools", run_name="__main__")
