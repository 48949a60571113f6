"""The machine as results record it: what it is, how busy it was, and what of it makes results doubtful."""

from __future__ import annotations

import datetime
import math
import os
import pathlib
import platform
import subprocess

# What settings of MPI libraries and of what lies under them begin with.
SETTINGS = (
    "TASUKI_",
    "OMPI_",
    "PRTE_",
    "PMIX_MCA_",
    "MPICH_",
    "MPIR_CVAR_",
    "HYDRA_",
    "I_MPI_",
    "UCX_",
    "FI_",
)
BUSY_LOAD = 0.8  # from here on others take a processor for most of the time
CONTROL_GROUPS = pathlib.Path("/sys/fs/cgroup")
PROCESSORS = pathlib.Path("/sys/devices/system/cpu")


def text_of(path: str | pathlib.Path, default: str = "") -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return default


def quota_processors() -> float | None:
    """How many processors' time the control group gives, or None where it sets no limit."""
    words = text_of(CONTROL_GROUPS / "cpu.max").split()  # version 2
    if not words:
        words = [text_of(CONTROL_GROUPS / f"cpu/cpu.cfs_{name}_us") for name in ("quota", "period")]
    if len(words) != 2 or words[0] in ("max", "-1", "") or not words[1]:
        return None
    return int(words[0]) / int(words[1])


def processors() -> int:
    """How many can work at once: those that this process may use, within the control group's quota."""
    allowed = len(os.sched_getaffinity(0))
    quota = quota_processors()
    return allowed if quota is None else max(1, min(allowed, math.floor(quota + 0.5)))


def cores() -> int:
    """Of those, how many are cores of their own: threads of one core count once."""
    siblings = {
        text_of(PROCESSORS / f"cpu{number}/topology/thread_siblings_list", str(number))
        for number in os.sched_getaffinity(0)
    }
    return min(len(siblings), processors())


def cpu_name() -> str:
    for line in text_of("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def governors() -> list[str]:
    """The frequency governors in use, where the kernel tells them."""
    files = sorted(PROCESSORS.glob("cpu*/cpufreq/scaling_governor"))
    return sorted({text_of(file) for file in files} - {""})


def in_container() -> bool:
    marks = ("/.dockerenv", "/run/.containerenv")
    return any(os.path.exists(mark) for mark in marks) or "container" in os.environ


def compiler_version(compiler: str | pathlib.Path = "c++", variables: dict | None = None) -> str:
    """The first line of what a compiler says of itself."""
    words = [str(compiler), "--version"]
    try:
        done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else "unknown"


def describe(variables: dict[str, str]) -> dict:
    """The field `environment` of docs/results.md, for ranks that get these environment variables."""
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "cpu": cpu_name(),
        "processors": processors(),
        "cores": cores(),
        "quota_processors": quota_processors(),
        "governors": governors(),
        "container": in_container(),
        "kernel": platform.release(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "load_before": list(os.getloadavg()),
        "variables": {name: value for name, value in sorted(variables.items()) if name.startswith(SETTINGS)},
        "warnings": [],
    }


def busy_text(load: float) -> str:
    """What a load says of times that are taken now; empty where the machine is free."""
    if load <= BUSY_LOAD:
        return ""
    return f"the load was {load:.1f}: others use this machine, and the times show it"


def doubts(environment: dict, ranks: list[int]) -> list[str]:
    """What of the machine makes its results less sure, a line each."""
    found = []
    load, here = environment["load_before"][0], environment["processors"]
    if busy := busy_text(load):
        found.append(busy)
    crowded = [str(count) for count in ranks if count > here]
    if crowded:
        found.append(f"{', '.join(crowded)} ranks share {here} processors: times depend on who runs when")
    slow = [name for name in environment["governors"] if name != "performance"]
    if slow:
        found.append(f"the frequency governor is {', '.join(slow)}: clocks vary with the load")
    return found
