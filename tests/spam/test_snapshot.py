"""Snapshots have every particle as it is: as the restart file of the same step has it, with the density that
a sum over all pairs gives. Pictures and films are made of them; what is none is refused by its name.
"""

import pathlib

import h5py
import harness
import numpy
import pytest

PYTHON = harness.ROOT / "apps/spam/python"
BETA, RANGE, HEIGHT, WIDTH = 30.0, 3.0, 9.0, 45.0
RECORD = numpy.dtype([("id", "<i8"), ("x", "<f8"), ("y", "<f8"), ("velocity", "<f8", 2), ("heat", "<f8")])


def read(path):
    """Its arrays by name, without the groups'."""
    with h5py.File(path) as file:
        grid = file["VTKHDF"]
        arrays = {name: grid[name][:] for name in grid if isinstance(grid[name], h5py.Dataset)}
        for group in ("PointData", "FieldData"):
            arrays |= {name: grid[group][name][:] for name in grid[group]}
        return dict(grid.attrs), arrays


def records(path, particles):
    """The particles at the end of a restart file, by id."""
    found = numpy.frombuffer(pathlib.Path(path).read_bytes()[-particles * RECORD.itemsize :], RECORD)
    return found[numpy.argsort(found["id"])]


def lucy(distance):
    q = distance / RANGE
    return numpy.where(q < 1, 5 / (numpy.pi * RANGE**2) * (1 + 3 * q) * (1 - q) ** 3, 0)


def density_by_all_pairs(x, y):
    """y is periodic, and a mirror stands at the right end of x."""
    density = numpy.zeros(len(x))
    for image in (x, 2 * WIDTH - x):
        for shift in (-HEIGHT, 0, HEIGHT):
            density += lucy(numpy.hypot(x[:, None] - image, y[:, None] - y - shift)).sum(axis=1)
    return density


@pytest.fixture
def run(spam, gas, tmp_path):
    """Four steps of a gas, with three snapshots."""

    def run_gas(ranks, *options):
        gas(("range = 3.0", f"range = {RANGE}\nbeta = {BETA}"), ("viscosity = 0.0", "viscosity = 0.5"))
        done = spam(
            "run", "gas.toml", "-o", "out", "--quiet", "--snapshot-interval", 2, *options, ranks=ranks
        )
        assert done.returncode == 0, done.text
        return tmp_path / "out"

    return run_gas


@pytest.mark.parametrize(("ranks", "options"), [(1, ()), (3, ("--mapping", "cyclic(2)")), (8, ())])
def test_every_particle_is_there_as_it_is(run, ranks, options):
    directory = run(ranks, *options)
    for step in (0, 2, 4):
        _, found = read(directory / f"snapshot-{step}.vtkhdf")
        assert (found["id"] == numpy.arange(600)).all()
        x, y, z = found["Points"].T
        assert (z == 0).all()
        expected = density_by_all_pairs(x, y)
        assert numpy.allclose(found["density"], expected, rtol=1e-12, atol=0), step
        assert numpy.allclose(found["pressure"], BETA / 120 * expected**2, rtol=1e-11, atol=0)
        assert found["step"] == [step] and numpy.isclose(found["time"], step * 0.02)
        assert (found["space"] == [WIDTH, HEIGHT]).all() and found["mass"] == [1.0]
    last = records(directory / "restart-4.spam", 600)
    for name, values in (("x", x), ("y", y), ("velocity", found["velocity"][:, :2]), ("heat", found["heat"])):
        assert (values == last[name]).all(), name
    assert found["heat"].min() > 0
    assert not list(directory.glob("*.part"))


def test_it_is_laid_out_as_paraview_reads_it(run):
    """VTKHDF 1.0, an unstructured grid of vertices: docs.vtk.org, "VTKHDF file format"."""
    attributes, found = read(run(2) / "snapshot-4.vtkhdf")
    assert list(attributes["Version"]) == [1, 0] and attributes["Type"] == b"UnstructuredGrid"
    assert found["Points"].shape == found["velocity"].shape == (600, 3)
    for name in ("NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"):
        assert found[name] == [600], name
    assert (found["Offsets"] == numpy.arange(601)).all()
    assert (found["Connectivity"] == numpy.arange(600)).all()
    assert (found["Types"] == 1).all() and found["Types"].dtype == numpy.uint8


def test_pictures_and_films_are_made_of_them(run, spam):
    directory = run(2)
    done = spam("picture", "out", "--step", 2, ranks=None)
    assert (done.returncode, done.stdout) == (0, "out/picture.png\n"), done.text
    assert (directory / "picture.png").read_bytes().startswith(b"\x89PNG")
    done = spam("film", "out", ranks=None)
    assert (done.returncode, done.stdout) == (0, "out/film.gif\n"), done.text
    assert frames(directory / "film.gif") == 3


def frames(path):
    from PIL import Image

    with Image.open(path) as film:
        return film.n_frames


def test_what_cannot_be_drawn(run, spam, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(PYTHON)
    monkeypatch.chdir(tmp_path)
    from spam_tools.film import film
    from spam_tools.picture import picture
    from spam_tools.refusal import Refusal

    def told(command, directory, *arguments):
        with pytest.raises(Refusal) as refusal:
            command(pathlib.Path(directory), *arguments)
        return str(refusal.value)

    (run(1) / "snapshot-4.vtkhdf").write_bytes(b"no snapshot")
    (tmp_path / "empty").mkdir()
    assert told(picture, "nowhere").startswith("nowhere: there is no such directory")
    assert told(film, "empty").startswith("empty: holds no snapshots")
    assert told(picture, "out").startswith("out/snapshot-4.vtkhdf: is no snapshot of spam")
    assert told(picture, "out", None, 3).startswith(
        "--step 3: out has no such snapshot; expected one of 0, 2, 4"
    )
    assert told(picture, "out", pathlib.Path("a.doc")).startswith(
        "--out a.doc: expected a name that ends in .png"
    )
    assert told(film, "out", pathlib.Path("none/a.gif")) == "--out none/a.gif: there is no directory none"
    done = spam("film", "out", ranks=None)
    assert done.returncode == 2 and done.stderr.startswith("spam: out/snapshot-4.vtkhdf: is no"), done.text
