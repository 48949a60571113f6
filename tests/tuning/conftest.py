"""The package's own sources, the machine that is made up, and the harness of tests/ranks can be imported.
Fixtures: whose built-in parameters a test is about, and a time that passes by answers."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/ranks")]

from tasuki.tuning import measure, messages, session  # noqa: E402


@pytest.fixture
def built_in_for(monkeypatch):
    """built_in_for("amd"): from here on the built-in parameters are those for this maker's processors."""
    return lambda maker: monkeypatch.setenv("TASUKI_PROCESSOR", maker)


class AnsweredTime:
    """Stands in for the module time, and for Timer: each answer of a job takes `answer_seconds`, and nothing
    else takes any time. So a budget is a number of answers, however busy the machine is."""

    def __init__(self, answer_seconds):
        self.answer_seconds, self.now, self.timers = answer_seconds, 0.0, []

    def monotonic(self):
        return self.now

    def answered(self):
        self.now += self.answer_seconds
        for timer in self.timers:
            if timer.end <= self.now:
                timer.function()

    def timer(self, seconds, function):
        time = self

        class Timer:
            def __init__(self):
                self.end, self.function = time.now + seconds, function

            def start(self):
                time.timers.append(self)

            def cancel(self):
                time.timers.remove(self)

        return Timer()


@pytest.fixture
def answered_time(monkeypatch):
    """answered_time(0.25): the tuning's own time is an AnsweredTime from here on."""

    def start(answer_seconds):
        time, take_line = AnsweredTime(answer_seconds), measure.take_line

        def take(*words):
            take_line(*words)
            time.answered()

        monkeypatch.setattr(measure, "take_line", take)
        monkeypatch.setattr(measure, "Timer", time.timer)
        for module in (measure, messages, session):
            monkeypatch.setattr(module, "time", time)
        return time

    return start
