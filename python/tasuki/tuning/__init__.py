"""The parameters by which the library chooses among the algorithms of the collectives: measured and fitted.

`cases` has the nouns, `programs` finds what is installed, `prices` asks the library's own formulas,
`measure` times algorithms, `samples` keeps the times and says how sure they are, `fitting` finds
parameters, `regret` says what a choice costs, `accept` decides what is taken, `tables` reads and writes the
file, and `session` is `tasuki tune` itself. docs/tuning.md is the story for users.
"""


class TuningError(ValueError):
    """What cannot be tuned, and why: one line."""
