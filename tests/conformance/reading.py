"""Reads what `python test/main.py -v` printed in each rank: which tests passed, failed, were skipped.

A line reads "test_x (module.Class.test_x) ... ok". Between the name and the verdict a test may have written
lines of its own, so the verdict is the last word before the next test's name. What stands after "======" only
repeats the failures and is not read.
"""

import re

NAME = re.compile(r"^(\w+) \(([\w.]+)\)", re.M)
VERDICT = re.compile(r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)$", re.M)


def verdicts(report):
    """A rank's report -> {module.Class.test: "ok", "skipped" or "failed"}; without a verdict it failed."""
    end = report.find("\n======")
    report = report[: end if end >= 0 else len(report)] + "\n"
    names = list(NAME.finditer(report))
    found = {}
    for name, next_name in zip(names, [*names[1:], None][: len(names)], strict=True):
        following = next_name.start() if next_name else len(report)
        words = VERDICT.findall(report[name.end() : following])
        word = words[-1] if words else "none"
        verdict = "failed"
        if word in ("ok", "expected failure"):
            verdict = "ok"
        elif word.startswith("skipped"):
            verdict = "skipped"
        test, path = name.groups()
        found[path if path.endswith(test) else f"{path}.{test}"] = verdict
    return found


def judge(reports):
    """The ranks' reports -> (passed, skipped, names of the failed). Not reported by a rank: failed."""
    ranks = [verdicts(report) for report in reports]
    passed, skipped, failed = 0, 0, []
    for test in sorted(set().union(*ranks)):
        words = {rank.get(test, "failed") for rank in ranks}
        if "failed" in words:
            failed.append(test)
        elif words == {"skipped"}:
            skipped += 1
        else:
            passed += 1
    return passed, skipped, failed
