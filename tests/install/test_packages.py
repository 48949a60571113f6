"""tools/system-packages.sh, with a dpkg-query, an apt-get and an id made up: each section of
tools/packages-debian.txt is asked for alone, and what another one needs may be missing."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "tools" / "packages-debian.txt"


def sections():
    text = re.sub(r"^#.*\n", "", LIST.read_text(), flags=re.M)
    words = re.split(r"^\[(\w+)\]$", text, flags=re.M)[1:]
    return {name: packages.split() for name, packages in zip(words[::2], words[1::2], strict=True)}


@pytest.fixture
def machine(tmp_path):
    """A Debian that lacks `missing` alone; runs the script there, returns what it asked apt-get for."""

    def run(*words, missing=(), user=0, apt_status=0):
        programs = {
            "dpkg-query": "for last; do :; done\n"
            f'case " {" ".join(missing)} " in *" $last "*) exit 1 ;; esac\n'
            "printf installed",
            "apt-get": f'echo "$@" >>{tmp_path}/apt-get.log\n[ "$1" = update ] || {{ {tmp_path}/policy;'
            f" echo $? >{tmp_path}/policy.status; exit {apt_status}; }}",
            "id": f"echo {user}",
        }
        for name, text in programs.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        log = tmp_path / "apt-get.log"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [ROOT / "tools/system-packages.sh", *words],
            env={
                "PATH": f"{tmp_path}:/usr/bin:/bin",
                "TMPDIR": str(tmp_path),
                "POLICY_RC_D": str(tmp_path / "policy"),
            },
            capture_output=True,
            text=True,
        )
        return done, log.read_text() if log.exists() else ""

    return run


def test_a_package_stands_in_one_section_and_no_browser_in_the_builds():
    found = sections()
    assert set(found) == {"build", "test", "deb", "long", "demo"}
    every = [package for packages in found.values() for package in packages]
    assert len(every) == len(set(every))
    for package in ("chromium", "gfortran", "clang", "valgrind", "gdb", "libgtest-dev"):
        assert package in found["test"]


@pytest.mark.parametrize("section", ["build", "test", "deb", "demo"])
@pytest.mark.parametrize("user", [0, 1000])
def test_what_other_sections_need_may_be_missing(machine, section, user):
    others = [one for name, packages in sections().items() if name != section for one in packages]
    done, asked = machine(section, missing=others, user=user)
    assert (done.returncode, done.stdout, done.stderr, asked) == (0, "", "", "")


@pytest.mark.parametrize("section", ["build", "test"])
def test_root_installs_what_is_missing_and_nothing_else(machine, section):
    missing = sections()[section][1:3]
    done, asked = machine(section, missing=[*missing, "some-other"])
    assert done.returncode == 0 and done.stdout == f"installing {' '.join(missing)}\n", done.stderr
    assert asked == f"update\ninstall --no-install-recommends -y {' '.join(missing)}\n"


def test_sections_are_taken_together(machine):
    missing = [sections()["build"][0], sections()["test"][0]]
    _, asked = machine("build", "test", missing=missing)
    assert asked.endswith(f"-y {' '.join(missing)}\n")


def test_a_user_is_told_the_line(machine):
    done, asked = machine("build", missing=["cmake"], user=1000)
    assert done.returncode == 1 and asked == ""
    assert "    apt-get install --no-install-recommends -y cmake\n" in done.stderr


def test_an_installation_that_fails_is_a_failure(machine):
    done, _ = machine("test", missing=["gdb"], apt_status=100)
    assert done.returncode == 1 and "apt-get could not install the packages" in done.stderr


@pytest.mark.parametrize("apt_status", [0, 100])
def test_daemons_are_not_started(machine, tmp_path, apt_status):
    """101 is policy-rc.d's "forbidden". A policy that is there already stays, and stays in force."""
    machine("test", missing=["munge"], apt_status=apt_status)
    assert (tmp_path / "policy.status").read_text() == "101\n"
    assert not (tmp_path / "policy").exists()
    (tmp_path / "policy").write_text("#!/bin/sh\nexit 104\n")
    (tmp_path / "policy").chmod(0o755)
    machine("test", missing=["munge"], apt_status=apt_status)
    assert (tmp_path / "policy.status").read_text() == "104\n"
    assert (tmp_path / "policy").exists()


def test_an_unknown_section_is_refused(machine):
    done, asked = machine("tests")
    assert done.returncode == 2 and "has no section [tests]" in done.stderr and asked == ""
    assert machine()[0].returncode == 2


def targets_of(goal, tmp_path):
    """The stamps and programs of set-up that make would make for the goal on a fresh machine."""
    done = subprocess.run(
        ["make", "-n", "--no-print-directory", f"BUILD={tmp_path}/build", goal, "T=base"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    packages = set(re.findall(r"tools/system-packages\.sh (\w+)", done.stdout))
    return packages, set(re.findall(r"tools/requirements-(\w+)\.txt", done.stdout))


@pytest.mark.parametrize(
    "goal, packages, requirements",
    [
        ("build", {"build"}, {"build"}),
        ("demo", {"build", "demo"}, {"build", "demo"}),
        ("check", {"build", "demo", "test"}, {"build", "demo", "test"}),
        ("test", {"build", "demo", "test"}, {"build", "demo", "test"}),
        ("test-long", {"build", "deb", "demo", "test", "long"}, {"build", "demo", "test"}),
        ("deb", {"build", "deb", "test"}, {"build"}),
        ("peers", {"build"}, set()),
    ],
)
def test_a_target_asks_for_its_own_packages(goal, packages, requirements, tmp_path):
    assert targets_of(goal, tmp_path) == (packages, requirements)
