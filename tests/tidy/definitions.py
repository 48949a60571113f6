"""No name is defined twice in one program (C++'s rule of one definition, which no compiler or linker holds).

Two classes of one name, or two inline functions, in different files of a program are one to the linker: it
keeps the members of either. This rule reads the sources: whatever a namespace defines with external linkage,
in a header or a source, is defined in one file. What lies in an anonymous namespace, or is `static`, is its
file's alone; so is a constant that is not `inline`.
"""

import collections
import dataclasses
import re

import rules

CPP = (".cpp", ".hpp")
CLASS = re.compile(r"\b(?:struct|class|union|enum)\b([^()=]*|[^=]*\balignas\s*\([^)]*\)[^()=]*)$")

VARIABLE = re.compile(r"(?:inline|constinit)\b[^=(]*?(\w+)\s*(?:\[[^]]*\]\s*)*(?:=|$)")
CONSTANT = re.compile(r"(?:inline|constinit|constexpr)\b[^=(]*?(\w+)\s*(?:\[[^]]*\]\s*)*(?:=|\{|$)")
# Files of which a program has either: the two ABIs, and SPAM with its counters read or modelled.
ALTERNATIVES = [
    ("src/binding/abi/standard/", "src/binding/abi/mpich/"),
    ("generated/binding/abi/standard/", "generated/binding/abi/mpich/"),
    ("apps/spam/src/cache.cpp", "apps/spam/model/cache_model.cpp"),
]


@dataclasses.dataclass(frozen=True)
class Definition:
    what: str  # "class", "function" or "variable"
    name: str  # with its namespaces; of a function, with its parameters' types
    file: str
    line: int


def programs(tree):
    """Sets of files that may meet in one program: (its name, the names of its files)."""
    names = [name for name, _ in tree.select(*CPP)]
    ours = [name for name in names if name.startswith(("src/", "generated/"))]
    yield "src", ours
    support = [name for name in names if name.startswith("tests/unit/support/")]
    folders = collections.defaultdict(list)
    for name in names:
        words = name.split("/")
        if name.startswith(("apps/", "bench/")) and len(words) > 2:
            folders["/".join(words[:2])].append(name)
        elif name.startswith("tests/unit/") and len(words) > 3:
            folders["/".join(words[:3])].append(name)
    for folder, members in folders.items():
        unit = folder.startswith("tests/unit/")
        yield folder, members + (ours + support if unit and folder != "tests/unit/support" else [])


def split_at_commas(text):
    """At those that no bracket encloses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def parameter_type(parameter):
    """Without its name and its default."""
    words = re.sub(r"\s*=.*", "", parameter, flags=re.S).strip()
    array = re.search(r"\[[^]]*\]$", words)
    words = words[: array.start()] if array else words
    words = re.sub(r"(?<=[\s&*>])(?!int\b|long\b|char\b|short\b|double\b)[A-Za-z_]\w*$", "", words).strip()
    return re.sub(r"\s*([&*<>,:])\s*", r"\1", " ".join(words.split())) + (array.group(0) if array else "")


def closing(text, begin):
    """Where the bracket at `begin` is closed."""
    opened, closed = text[begin], {"(": ")", "<": ">"}[text[begin]]
    depth = 0
    for position in range(begin, len(text)):
        depth += (text[position] == opened) - (text[position] == closed)
        if depth == 0:
            return position
    return len(text) - 1


def function_of(head):
    """A function's name with the types of its parameters, or None where `head` begins none with linkage."""
    words = re.sub(r"\[\[.*?\]\]|alignas\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)", "", head).strip()
    generic = ""
    if re.match(r"template\s*<", words):
        begin = words.index("<")
        end = closing(words, begin)
        generic = f"<{len(split_at_commas(words[begin + 1 : end]))}>"
        words = words[end + 1 :].strip()
        words = re.sub(
            r"^requires\b[^{;]*?(?=\b(?:inline|constexpr|auto|void|bool|\w+)\s+\w+\s*\()", "", words
        )
    found = re.search(r"((?:~?\w+\s*::\s*)*(?:operator\s*[^\s\w(]+|operator\s*\(\)|~?\w+))\s*\(", words)
    if not found or re.search(r"\bstatic\b", words[: found.start()]) or "=" in words[: found.start()]:
        return None
    end = closing(words, found.end() - 1)
    types = ", ".join(parameter_type(one) for one in split_at_commas(words[found.end() : end]))
    constant = " const" if re.match(r"\s*const\b", words[end + 1 :]) else ""
    return f"{''.join(found.group(1).split())}{generic}({types}){constant}"


def definitions_in(name, text, local=False):
    """What has external linkage; or, `local`, what a file has for itself, under the names others see."""
    code = rules.without_comments_and_literals(text)
    scopes, begin = [], 0  # scopes: (kind, name)

    def found(what, base, position):
        line = code.count("\n", 0, position) + 1
        path = [scope for kind, scope in scopes if kind == "namespace" and scope]
        return Definition(what, "::".join([*path, base]), name, line)

    for position, character in enumerate(code):
        if character not in "{};":
            continue
        head = code[begin:position].strip()
        begin, at = position + 1, begin + len(code[begin:position]) - len(code[begin:position].lstrip())
        kinds = {kind for kind, _ in scopes}
        named = kinds <= {"namespace", "anonymous"} and ("anonymous" in kinds) == local
        if character == "}":
            if scopes:
                scopes.pop()
        elif character == ";":
            variable = (CONSTANT if local else VARIABLE).match(head) if named else None
            if variable:
                yield found("variable", variable.group(1), at)
        else:
            scopes_before = len(scopes)
            opened = re.match(r"(?:inline\s+)?namespace\b\s*([\w:]*)$", head)
            if opened:
                scopes.append(("namespace" if opened.group(1) else "anonymous", opened.group(1)))
            elif re.match(r"extern\s*$", head):
                scopes.append(("namespace", ""))
            else:
                if named:
                    one = definition_before_brace(head, CONSTANT if local else VARIABLE)
                    if one:
                        yield found(*one, at)
                scopes.append(("body", ""))
            assert len(scopes) == scopes_before + 1


def definition_before_brace(head, a_variable):
    """("class", "Win"), ("function", "f(int)") or ("variable", "kNames"), or None."""
    if head.count("(") != head.count(")"):  # a default argument
        return None
    a_class = CLASS.search(head)
    if a_class:
        words = re.sub(r"\[\[.*?\]\]|alignas\s*\([^)]*\)|\b(class|struct|final)\b", "", a_class.group(1))
        words = re.split(r"(?<!:):(?!:)", words)[0].strip()
        return ("class", re.sub(r"\s+", "", words)) if words else None
    variable = a_variable.match(head)
    if variable:
        return "variable", variable.group(1)
    function = function_of(head) if "(" in head else None
    return ("function", function) if function else None


def alternatives(one, other):
    return any(
        (one.file.startswith(first) and other.file.startswith(second))
        or (one.file.startswith(second) and other.file.startswith(first))
        for first, second in ALTERNATIVES
    )


def one_definition(tree):
    """Each class, function and variable with external linkage is defined in one file of a program."""
    known = {name: list(definitions_in(name, text)) for name, text in tree.select(*CPP)}
    wrong = set()
    for _, files in programs(tree):
        first = {}
        for name in files:
            for one in known[name]:
                other = first.setdefault((one.what, one.name), one)
                if (
                    other.file != one.file
                    and not one.name.startswith("main(")
                    and not alternatives(one, other)
                ):
                    wrong.add(
                        f"{one.file}:{one.line}: {one.what} {one.name} is also in {other.file}:{other.line}"
                    )
    return sorted(wrong)


def precompiled(tree):
    """The headers that are compiled ahead for the core, and all that they include."""
    listed = re.search(r"target_precompile_headers\(([^)]*)\)", tree.files.get("CMakeLists.txt", ""))
    todo = re.findall(r"src/[\w/]+\.hpp", listed.group(1)) if listed else []
    headers = set()
    while todo:
        name = todo.pop()
        if name in tree.files and name not in headers:
            headers.add(name)
            todo += [f"src/{one.strip(chr(34))}" for _, one in rules.includes(tree.files[name])]
    return sorted(headers)


def names_of_precompiled_headers_are_theirs(tree):
    """Nothing that a file of the core has for itself is called as what these headers define: each file of the
    core includes them so, but not where there is a compiler cache, which hides the clash."""
    headers = precompiled(tree)
    theirs = {(d.what, d.name): d for name in headers for d in definitions_in(name, tree.files[name])}
    wrong = []
    for name, text in tree.select(".cpp"):
        if name.startswith("src/"):
            for one in definitions_in(name, text, local=True):
                other = theirs.get((one.what, one.name))
                if other:
                    where = f"{other.file}:{other.line}, which is precompiled"
                    wrong.append(f"{one.file}:{one.line}: {one.what} {one.name} is also in {where}")
    return wrong


# What a function of the same name would hide from the files behind it.
OF_THE_SYSTEM = set("bind close connect kill listen open pipe poll read send select stat time write".split())


UNIT_APART = re.compile(r"foreach\(name ([^)]*)\)\s*set_source_files_properties")
APART = re.compile(r'list\(FILTER in_one_piece EXCLUDE REGEX "/\((.*?)\)|if\(NOT folder STREQUAL (\w+)')
CORE_NOT = re.compile(r"TASUKI_CORE_SOURCES EXCLUDE REGEX \"/src/\((.*?)\)/")


def in_one_piece(tree):
    """The groups of sources that sanitized builds compile as one: mpiexec, the core and the unit tests."""
    texts = [tree.files.get(name, "") for name in ("CMakeLists.txt", "src/launch/CMakeLists.txt")]
    apart = {word for text in texts for found in APART.findall(text) for word in "|".join(found).split("|")}
    outside = {word for text in texts for found in CORE_NOT.findall(text) for word in found.split("|")}
    words = UNIT_APART.search(tree.files.get("tests/unit/CMakeLists.txt", ""))
    unit_apart = {f"tests/unit/{word}_test.cpp" for word in (words.group(1).split() if words else [])}
    groups = collections.defaultdict(list)
    for name, source in tree.select(".cpp"):
        if re.match(r"tests/unit/(?!spam/).*_test[.]cpp", name) and name not in unit_apart:
            groups[name.rpartition("/")[0]].append((name, source))
        folder = name.rpartition("/")[0].removeprefix("src/")
        if name.startswith("src/launch/") and name.rpartition("/")[2].removesuffix(".cpp") not in apart:
            groups["launch"].append((name, source))
        elif name.startswith("src/") and folder.split("/")[0] not in outside | {"launch"}:
            if folder.replace("/", "_") not in apart:
                groups[folder].append((name, source))
    return groups


def files_in_one_piece_have_their_own_names(tree):
    """What two of these files have for themselves has two names, and none is a name of the system's calls."""
    wrong = []
    for files in in_one_piece(tree).values():
        first = {}
        for one in (one for name, text in files for one in definitions_in(name, text, local=True)):
            where = f"{one.file}:{one.line}: {one.what} {one.name}"
            scope, _, base = one.name.split("(")[0].rpartition("::")
            other = first.setdefault(re.sub(r"\bconst\b|[&\s]", "", one.name), one)
            if other.file != one.file:
                wrong.append(
                    f"{where} is also in {other.file}:{other.line}, which is compiled in one piece with it"
                )
            if one.what == "function" and base in OF_THE_SYSTEM and scope == scope.lower():
                wrong.append(f"{where} hides the system's from files that are compiled in one piece with it")
    return wrong
