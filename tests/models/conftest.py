"""Tells at the end how many states each run of a model went through."""

import pytest

states = {}


@pytest.fixture
def record_states(request):
    def record(number):
        states[request.node.callspec.id] = number

    return record


def pytest_terminal_summary(terminalreporter):
    for run, number in states.items():
        terminalreporter.write_line(f"{number:>12,} states  {run}")
