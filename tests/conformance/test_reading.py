"""The reading of mpi4py's reports: every verdict is found, and a failure cannot hide."""

from reading import judge, verdicts

REPORT = """\
[0@host] Python 3.11
test_a (test_x.TestX.test_a) ... ok
test_b (test_x.TestX.test_b)
Its doc string. ... skipped 'not here'
test_c (test_x.TestX.test_c) ... a line of its own
ok
test_d (test_x.TestX.test_d) ... FAIL
test_e (test_x.TestX.test_e) ... ERROR
setUpClass (test_x.TestY) ... ERROR
test_f (test_x.TestX.test_f) ... expected failure

======================================================================
ERROR: test_a (test_x.TestX.test_a)
----------------------------------------------------------------------
Ran 7 tests in 0.1s

FAILED (errors=2)
"""


def test_every_verdict_is_read():
    assert verdicts(REPORT) == {
        "test_x.TestX.test_a": "ok",
        "test_x.TestX.test_b": "skipped",
        "test_x.TestX.test_c": "ok",
        "test_x.TestX.test_d": "failed",
        "test_x.TestX.test_e": "failed",
        "test_x.TestY.setUpClass": "failed",
        "test_x.TestX.test_f": "ok",
    }


def test_a_test_fails_when_any_rank_fails_it():
    good = "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b) ... skipped 'x'\n"
    bad = "test_a (m.C.test_a) ... FAIL\ntest_b (m.C.test_b) ... ok\n"
    assert judge([good, good]) == (1, 1, [])
    assert judge([good, bad]) == (1, 0, ["m.C.test_a"])


def test_a_test_that_never_ended_failed():
    cut = "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b) ... "
    whole = "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b) ... ok\n"
    assert judge([whole, cut]) == (1, 0, ["m.C.test_b"])
    assert judge([whole, "test_a (m.C.test_a) ... ok\n"]) == (1, 0, ["m.C.test_b"])


def test_a_report_without_tests_has_none():
    assert verdicts("Traceback: no MPI\n") == {}
    assert judge([]) == (0, 0, [])
