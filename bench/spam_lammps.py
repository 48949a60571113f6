"""SPAM's forces beside those of LAMMPS, on one core, for the same particles.

SPAM runs an input file; its first snapshot becomes LAMMPS' data file, with the same range, pressure and
boundary. LAMMPS then does as many steps, with each pair style below, and neighbour lists as a user would
have them (a skin of 0.3, checked in each step). Both take turns, and the fastest run of each counts. A pair
interaction is a pair in range, once; LAMMPS itself counts those (compute coord/atom) at the beginning.
"force" is the loop over pairs alone, "with lists" adds what finds the partners: neighbour lists there,
sorting by cell here.

  sph/idealgas   smoothed particles with Lucy's weight, as SPAM's; with changes of density and energy, too
  lj/cut/opt     the cheapest loop over pairs that LAMMPS has (no smoothed particles; hardly any force)
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
GAMMA = 1.4  # of the ideal gas: pair_style sph/idealgas has P = 0.4 density energy
HEAT_CAPACITY = 1.0

STYLES = {
    "sph/idealgas": ("pair_style sph/idealgas", "pair_coeff * * 0.0 {range}"),
    "lj/cut/opt": ("pair_style lj/cut/opt {range}", "pair_coeff * * 1e-30 0.1"),
}

INPUT = """
dimension       2
units           lj
boundary        s p p
atom_style      sph
newton          on
comm_modify     vel yes
read_data       {data}
{style}
{coefficients}
neighbor        0.3 bin
neigh_modify    every 1 delay 0 check yes
compute         partners all coord/atom cutoff {range}
compute         sum all reduce sum c_partners
fix             move all {fix}
fix             plane all enforce2d
fix             wall all wall/reflect xhi {width}
timestep        {time_step}
thermo_style    custom step c_sum
thermo_modify   norm no format 2 %.0f
thermo          {steps}
run             0
uncompute       sum
uncompute       partners
thermo_style    custom step
run             {steps}
"""


def spam_run(options, output):
    """What SPAM found, and how long it took: pairs per second of force, and of force and sorting."""
    shutil.rmtree(output, ignore_errors=True)
    words = [options.prefix / "bin/mpiexec", "-n", 1, options.prefix / "bin/spam", "run", options.input]
    words += ["--output", output]
    subprocess.run(
        [str(word) for word in words],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=100,
    )
    record = json.loads((output / "run.json").read_text())
    seconds = {phase: sum(of_ranks) for phase, of_ranks in record["phases"].items()}
    pairs = sum(record["pairs"]) * record["steps"]
    return {
        "steps": record["steps"],
        "pairs": pairs / record["steps"] / 4,
        "force": pairs / seconds["force"],
        "with lists": pairs / (seconds["force"] + seconds["sorting"]),
    }


def write_data(path, snapshot, reach):
    """LAMMPS' data file of a snapshot; each particle has the energy that gives its pressure."""
    with h5py.File(snapshot) as file:
        grid = file["VTKHDF"]
        places, data = grid["Points"][:], grid["PointData"]
        velocities, density, pressure = data["velocity"][:], data["density"][:], data["pressure"][:]
        width, height = grid["FieldData"]["space"][:]
    energy = pressure / ((GAMMA - 1) * density)
    count = len(places)
    left = min(0.0, places[:, 0].min()) - reach
    lines = [f"particles of {snapshot.name}", "", f"{count} atoms", "1 atom types", ""]
    lines += [f"{left} {width} xlo xhi", f"0 {height} ylo yhi", "-0.5 0.5 zlo zhi", "", "Masses", "", "1 1.0"]
    lines += ["", "Atoms # sph", ""]
    places[:, 1] = numpy.mod(places[:, 1], height)
    for k in range(count):
        x, y = places[k, :2]
        lines.append(f"{k + 1} 1 {density[k]} {energy[k]} {HEAT_CAPACITY} {x} {y} 0")
    lines += ["", "Velocities", ""]
    lines += [f"{k + 1} {velocities[k, 0]} {velocities[k, 1]} 0" for k in range(count)]
    path.write_text("\n".join(lines) + "\n")
    return width


def lammps_run(options, style, words):
    """The same of LAMMPS, from what it prints."""
    pair_style, coefficients = (line.format(**words) for line in STYLES[style])
    fix = "sph" if style.startswith("sph") else "nve"
    path = options.out / "shock.lammps"
    path.write_text(INPUT.format(style=pair_style, coefficients=coefficients, fix=fix, **words))
    library_path = f"{options.prefix / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    done = subprocess.run(
        [
            str(options.prefix / "bin/mpiexec"),
            "-n",
            "1",
            str(options.lammps),
            "-in",
            str(path),
            "-log",
            "none",
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1", "LD_LIBRARY_PATH": library_path},
        timeout=100,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    pairs = float(re.search(r"^ +0 +(\d+)$", done.stdout, re.MULTILINE)[1]) / 2
    second = done.stdout.rsplit("Loop time of", 1)[1]
    pair, neighbour = (
        float(re.search(rf"^{name} *\| *(\S+)", second, re.MULTILINE)[1]) for name in ("Pair", "Neigh")
    )
    work = pairs * words["steps"]
    return {"pairs": pairs, "force": work / pair, "with lists": work / (pair + neighbour)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="the installed tree")
    parser.add_argument("--lammps", type=pathlib.Path, required=True, help="the program lmp")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, default=ROOT / "apps/spam/examples/paper.toml")
    parser.add_argument("--range", type=float, default=3.0, help="that of the input file")
    parser.add_argument("--time-step", type=float, default=0.02)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    first = spam_run(options, options.out / "spam")
    data = options.out / "shock.data"
    width = write_data(data, options.out / "spam/snapshot-0.vtkhdf", options.range)
    words = {"data": data, "range": options.range, "width": width, "time_step": options.time_step}
    words["steps"] = first["steps"]
    found = {name: [] for name in ("spam", *STYLES)}
    for _ in range(options.repeats):
        found["spam"].append(spam_run(options, options.out / "spam"))
        for style in STYLES:
            found[style].append(lammps_run(options, style, words))
    best = {
        name: {key: max(run[key] for run in runs) for key in ("pairs", "force", "with lists")}
        for name, runs in found.items()
    }
    print(
        f"{'':14} {'pairs in range':>15} {'force':>16} {'with lists':>16}   million pairs a second and core"
    )
    for name, rates in best.items():
        row = "".join(
            f"{rates[key] * 1e-6:9.1f} {best['spam'][key] / rates[key]:5.1f} x"
            for key in ("force", "with lists")
        )
        print(f"{name:14} {rates['pairs']:15.0f} {row}")
    (options.out / "spam_lammps.json").write_text(json.dumps(best, indent=1) + "\n")


if __name__ == "__main__":
    main()
