"""The fixture of the tests with programs of Debian."""

import debian_programs
import pytest


@pytest.fixture
def unpacked():
    """unpacked(package, …) fetches and unpacks them, once."""
    return debian_programs.unpack
