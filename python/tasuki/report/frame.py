"""What stands around the content of a page: one HTML document that needs nothing else."""

from __future__ import annotations

import importlib.resources

from tasuki.report.markup import Markup, element


def resource(package: str, name: str) -> str:
    return importlib.resources.files(package).joinpath(name).read_text(encoding="utf-8")


def framed(package: str, title: str, body: list, footer: str, script_data: str | None = None) -> str:
    """The document. Its style is the report's page.css, and the package's own where that is another one; its
    script is the package's page.js, which finds `script_data` (JSON) under "spans", and tells in "told"."""
    styles = [resource(one, "page.css") for one in dict.fromkeys(("tasuki.report", package))]
    data = None
    if script_data is not None:
        data = element("script", Markup(script_data), type="application/json", id="spans")
    foot = [
        element("footer", footer),
        element("div", id="told", role="status", hidden=True),
        data,
        element("script", Markup(resource(package, "page.js"))),
    ]
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        element("style", Markup("".join(styles))),
    ]
    page = element("html", element("head", head), element("body", body, foot), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"
