"""Runs tests and programs that know one machine so that their jobs are spread over the hosts of a test.

    over = OverHosts(hosts, "node1:2,node2:2")
    over.pytest("tests/ranks/test_corners.py", "-k", "not threads")     # fails where one of them fails
    done = over.run([over.mpiexec, "-n", 4, program])                   # Done; on the first host

They run on the first host, with an installed tree of their own: build/prefix, but for an mpiexec that adds
`--host PLACES`, and makes hosts of virtual nodes (spread.py). Temporary folders of pytest are in the folder
that hosts share.

    programs.py PLACES COMMAND...         does the same by hand; $PREFIX is that tree
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ranks"), str(HERE)]

import harness  # noqa: E402
from hosts import Hosts  # noqa: E402

MPIEXEC = """\
#!/bin/sh
exec {python} -I -S {here}/spread.py {real}/bin/mpiexec {places} "$@"
"""


def make_tree(folder, places):
    """An installed tree whose mpiexec starts ranks on these hosts."""
    real = harness.PREFIX.resolve()
    (folder / "bin").mkdir(parents=True)
    for path in real.iterdir():
        if path.name != "bin":
            (folder / path.name).symlink_to(path)
    for path in (real / "bin").iterdir():
        if path.name == "mpiexec":
            script = folder / "bin" / path.name
            script.write_text(MPIEXEC.format(python=sys.executable, here=HERE, real=real, places=places))
            script.chmod(0o755)
        else:  # a copy: mpicc finds the tree by its own place
            shutil.copy(path, folder / "bin" / path.name, follow_symlinks=False)
    return folder


class OverHosts:
    def __init__(self, hosts, places):
        self.hosts, self.places = hosts, places
        self.folder = hosts.shared_folder / re.sub(r"\W", "-", places)
        self.tree = make_tree(self.folder / "prefix", places)
        self.mpiexec = self.tree / "bin" / "mpiexec"
        self.environment = {"TASUKI_TEST_PREFIX": self.tree, "PREFIX": self.tree}

    def run(self, words, environment=None, **how):
        environment = {**self.environment, **(environment or {})}
        return self.hosts[0].run(words, environment=environment, **{"cwd": harness.ROOT, **how})

    def pytest(self, *words, seconds=200, environment=None):
        """Runs these tests; all must pass, and some must run."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
        command += ["--timeout", max(120, seconds // 10), "--basetemp", self.folder / "tmp"]
        done = self.run(command, timeout=seconds, environment=environment)
        assert done.returncode == 0, done.text
        assert re.search(r"\d+ passed", done.stdout), done.text
        return done


def main(places, *words):
    with Hosts(len(places.split(","))) as hosts:
        over = OverHosts(hosts, places)
        words = [word.replace("$TMP", str(over.folder / "tmp")) for word in words]
        environment = {
            name: os.environ[name] for name in os.environ if name.startswith(("TASUKI_", "PROPERTY_"))
        }
        environment.update({name: str(value) for name, value in over.environment.items()})
        process = hosts[0].popen(
            words,
            environment=environment,
            cwd=harness.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=None,
            stderr=None,
        )
        status = process.wait()
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
