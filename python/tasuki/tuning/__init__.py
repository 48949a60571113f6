"""The parameters by which the library chooses among the algorithms of the collectives and among the ways of a
message: measured, fitted and decided.

`cases` has the nouns, `programs` finds what is installed, `prices` asks the library's own formulas,
`measure` times algorithms, `messages` the ways of a message, `samples` keeps the times and says how sure
they are, `fitting` finds parameters, `regret` says what a choice costs, `decide` decides what is taken,
`thresholds` from which size on who copies a message, `tables` reads and writes the file, and `session` is
`tasuki tune` itself. docs/tuning.md is the story for users.
"""


class TuningError(ValueError):
    """What cannot be tuned, and why: one line."""
