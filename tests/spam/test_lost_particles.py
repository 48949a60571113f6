"""A particle that goes past a bordering rank in one step ends the run; the rank that has it names it."""

import re

TWO = """\
[space]
width = 100.0
height = 9.0
cell_size = 3.1
boundary_x = "open"
boundary_y = "periodic"
[material]
range = 3.0
[[initial.particle]]
x = 90.0
y = 4.0
vx = 0.0
vy = 0.0
[[initial.particle]]
x = 10.0
y = 4.0
vx = 3000.0
vy = 0.0
[integration]
time_step = 0.02
steps = 4
"""


def test_a_particle_that_goes_past_a_rank_is_named(spam, tmp_path):
    (tmp_path / "two.toml").write_text(TWO)
    done = spam("run", "two.toml", "--output", "out", "--mapping", "flat", "--threads", "1", ranks=3)
    assert done.returncode == 1, done.text
    told = re.search(r"spam: rank 0: step 1: particle 1 at \(70, 4\).* to column 22 of rank 2.*", done.stderr)
    assert told and "time_step" in told[0], done.text
    assert not (tmp_path / "out/run.json").exists()
