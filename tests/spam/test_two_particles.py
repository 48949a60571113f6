"""Two particles that collide: where the simulation leaves them, against quadratures of the exact motion."""

import math

import h5py
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

RANGE, BETA, MASS = 3.0, 60.0, 1.0
REDUCED_MASS = MASS / 2
BEGIN = 2.0  # half of the distance along x at time 0, out of range

INPUT = """\
[space]
width = 40.0
height = 40.0
cell_size = 3.1
boundary_x = ["open", "open"]
boundary_y = ["open", "open"]

[material]
mass = {MASS}
beta = {BETA}
range = {RANGE}

[initial]
[[initial.particle]]
x = {left}
y = {low}
vx = {speed}
vy = 0.0

[[initial.particle]]
x = {right}
y = {high}
vx = {opposite}
vy = 0.0

[integration]
time_step = {time_step}
steps = {steps}

[parallel]
mapping = "flat"
threads = 1
"""


def potential(r):
    q = r / RANGE
    return BETA / 60 * MASS**2 * 5 / (math.pi * RANGE**2) * (1 + 3 * q) * (1 - q) ** 3 if q < 1 else 0.0


def exact_places(speed, offset, time):
    """Places of both after `time`, the middle between them being the origin.

    `speed` is that of each, along x and towards the other; `offset` their distance in y, the impact
    parameter. The relative motion has one degree of freedom, r, whose time and angle are integrals over r;
    r = least + s^2 takes the singularity at the turning point out of them.
    """
    approach = 2 * speed
    energy = REDUCED_MASS * approach**2 / 2
    angular = REDUCED_MASS * offset * approach

    def radial(r):
        return energy - potential(r) - angular**2 / (2 * REDUCED_MASS * r**2)

    low = offset if offset > 0 else 1e-6
    assert radial(low) <= 0 < radial(RANGE)
    least = scipy.optimize.brentq(radial, low, RANGE, xtol=1e-15)

    def integral(of):
        def at(s):
            r = least + s * s
            rest = radial(r)
            if rest <= 0:  # at the turning point, where both vanish: by its slope
                rest = (radial(least + 1e-7) / 1e-7) * s * s
            return of(r) * 2 * s / math.sqrt(2 * rest / REDUCED_MASS) if s > 0 else 0.0

        value, error = scipy.integrate.quad(at, 1e-9, math.sqrt(RANGE - least), epsabs=1e-13, limit=400)
        assert error < 1e-9
        return 2 * value

    inside = integral(lambda r: 1.0)
    turned = integral(lambda r: angular / (REDUCED_MASS * r * r))
    enters_at = math.sqrt(RANGE**2 - offset**2)
    until = (2 * BEGIN - enters_at) / approach
    after = time - until - inside
    assert after > 0
    # The relative place is (-enters_at, -offset) when it begins; it turns about the origin by `turned`.
    begin_angle = math.atan2(-offset, -enters_at)
    end_angle = begin_angle + turned
    # Going out it is the mirror image of coming in: the velocity's angle to the radius is the same.
    outward = math.atan2(offset, enters_at)
    direction = end_angle + outward
    relative = RANGE * np.array([math.cos(end_angle), math.sin(end_angle)])
    relative += after * approach * np.array([math.cos(direction), math.sin(direction)])
    return relative / 2, -relative / 2


def places_of(spam, tmp_path, speed, offset, time_step, time):
    middle = 20.0
    text = INPUT.format(
        MASS=MASS,
        BETA=BETA,
        RANGE=RANGE,
        left=middle - BEGIN,
        low=middle - offset / 2,
        speed=speed,
        right=middle + BEGIN,
        high=middle + offset / 2,
        opposite=-speed,
        time_step=time_step,
        steps=round(time / time_step),
    )
    (tmp_path / "two.toml").write_text(text)
    out = tmp_path / f"out-{speed}-{offset}-{time_step}"
    done = spam("run", "two.toml", "--output", out, "--quiet", ranks=2)
    assert done.returncode == 0, done.text
    with h5py.File(out / f"snapshot-{round(time / time_step)}.vtkhdf") as file:
        ids, places = file["VTKHDF/PointData/id"][:], file["VTKHDF/Points"][:, :2]
    assert list(ids) == [0, 1]
    return places - middle


@pytest.mark.parametrize("speed, offset", [(0.2, 0.0), (0.2, 0.5), (0.3, 1.0), (0.5, 1.0)])
def test_a_collision(spam, tmp_path, speed, offset):
    """Slow and fast, central and not. Half the step leaves less than a quarter of the error: not a sixteenth,
    since the force's second derivative jumps where two particles come into range."""
    time = 16.0
    exact = np.array(exact_places(speed, offset, time))
    errors = [
        np.abs(places_of(spam, tmp_path, speed, offset, step, time) - exact).max() for step in (0.1, 0.05)
    ]
    assert errors[0] < 2e-5, errors
    assert errors[1] < max(errors[0] / 4, 1e-8), errors
