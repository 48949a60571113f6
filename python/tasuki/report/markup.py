"""HTML and SVG as a tree of calls: element("p", "1 < 2", class_="note"). What is not Markup is escaped."""

from __future__ import annotations

import html

VOID = {"meta", "br", "line", "circle", "path", "rect", "polygon", "use"}


class Markup(str):
    """Text that is markup already."""


def escaped(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def joined(*parts: object) -> Markup:
    """The parts one after the other; None is nothing, lists are opened."""
    out = []
    for part in parts:
        if isinstance(part, (list, tuple)):
            out.append(joined(*part))
        elif part is not None:
            out.append(escaped(part))
    return Markup("".join(out))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """`class_` is class, `aria_label` is aria-label; None leaves an attribute out, True has no value."""
    words = [name]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(key)
        elif value is not None and value is not False:
            words.append(f'{key}="{html.escape(str(value))}"')
    head = " ".join(words)
    if name in VOID and not children:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{joined(*children)}</{name}>")
