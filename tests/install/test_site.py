"""The site of the pages, as `make docs` makes it: its links hold (mkdocs says else), and a browser that opens
it as a file searches it, and fetches nothing from elsewhere.

It asks PyPI for mkdocs: only `make test-long` (TASUKI_TEST_LONG=1) runs it.
"""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from test_install import ROOT, output

SITE = ROOT / "build/site"

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TASUKI_TEST_LONG") != "1", reason="asks PyPI for mkdocs: TASUKI_TEST_LONG=1"
    ),
    pytest.mark.timeout(1200),
]


@pytest.fixture(scope="module", autouse=True)
def made():
    done = subprocess.run(["make", "-C", ROOT, "docs"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_that_is_opened_as_a_file_can_be_searched():
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000"]
    page = output(*browser, "--dump-dom", f"file://{SITE}/docs/install.html?q=doorbell")
    (found,) = re.findall(r"(\d+) matching documents", page.partition("<body")[2].partition("__config")[0])
    assert int(found) > 1


def test_nothing_is_fetched_from_elsewhere():
    pages = sorted(SITE.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|link rel="stylesheet")[^>]* (?:src|href)="https?:', text), page
