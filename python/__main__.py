"""Run as a folder, `python .../python`, this is the command line: so the installed script starts it."""

from tasuki.__main__ import main

if __name__ == "__main__":
    main()
