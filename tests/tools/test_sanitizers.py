"""Programs built with sanitizers start, find their own mistakes, and nothing of ours."""

import harness
import pytest

CLANG_SHARED = ("-shared-libasan",)  # and where to find it: see program()
# name: compiler, sanitizer, further flags, what it finds, and how its report begins.
KINDS = {
    "gcc address": ("gcc", "address", (), "overflow", "heap-buffer-overflow"),
    "gcc address, static": ("gcc", "address", ("-static-libasan",), "overflow", "heap-buffer-overflow"),
    "gcc thread": ("gcc", "thread", (), None, None),
    "gcc thread, static": ("gcc", "thread", ("-static-libtsan",), None, None),
    "gcc leak": ("gcc", "leak", (), "leak", "3000 byte(s)"),
    "gcc undefined": ("gcc", "undefined", (), "undefined", "shift exponent"),
    "clang address": ("clang", "address", (), "use-after-free", "heap-use-after-free"),
    "clang address, shared": ("clang", "address", CLANG_SHARED, "overflow", "heap-buffer-overflow"),
    "clang thread": ("clang", "thread", (), None, None),
    "clang leak": ("clang", "leak", (), "leak", "3000 byte(s)"),
    "clang undefined": ("clang", "undefined", (), "undefined", "shift exponent"),
}
FINDING = [kind for kind, row in KINDS.items() if row[3]]
ABIS = ("standard", "mpich")
REPORTS = ("ERROR:", "WARNING:", "runtime error")


@pytest.fixture
def program(compiled):
    """program(kind, abi, source) -> the program under that sanitizer."""

    def under(kind, abi="standard", source="exercise.c"):
        compiler, sanitizer, flags, *_ = KINDS[kind]
        if flags == CLANG_SHARED:
            name = "-print-file-name=libclang_rt.asan-x86_64.so"
            library = harness.run_command("clang", name).stdout.strip()
            flags = (*flags, f"-Wl,-rpath,{library.rpartition('/')[0]}")
        return compiled(source, compiler, abi, f"-fsanitize={sanitizer}", *flags)

    return under


@pytest.fixture(autouse=True)
def thread_sanitizer_works(request, compiled):
    """Kernels with more random address bits than its runtime knows end every program under it."""
    kind = request.node.callspec.params.get("kind", "") if hasattr(request.node, "callspec") else ""
    if "thread" not in kind:
        return
    compiler = KINDS[kind][0]
    alone = harness.run_command(compiled("exercise.c", compiler, "standard", "-fsanitize=thread"))
    if "unexpected memory mapping" in alone.stderr:
        pytest.skip(f"{compiler}'s ThreadSanitizer does not run on this kernel: {alone.stderr.strip()}")


@pytest.mark.parametrize("abi", ABIS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_correct_program_starts_and_nothing_is_reported(mpiexec, program, kind, abi):
    done = mpiexec("-n", 2, program(kind, abi))
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    assert not any(word in done.stderr for word in REPORTS), done.text


def expect_report(done, kind):
    words = KINDS[kind][4]
    assert words in done.stderr, done.text
    assert "exercise.c:" in done.stderr, f"the report names no line: {done.text}"
    assert done.returncode != 0 or "undefined" in kind, done.text


@pytest.mark.parametrize("kind", FINDING)
def test_a_mistake_with_a_message_buffer_is_found(mpiexec, program, kind):
    expect_report(mpiexec("-n", 2, program(kind), KINDS[kind][3]), kind)


# Here mpiexec preloads the heap before it can know, and the heap steps aside.
@pytest.mark.parametrize("kind, abi", [*((kind, "standard") for kind in FINDING), ("gcc address", "mpich")])
def test_a_mistake_is_found_behind_a_script(mpiexec, program, script, kind, abi):
    words = f"{program(kind, abi)} {KINDS[kind][3]}"
    expect_report(mpiexec("-n", 2, script, environment={"TOOL_COMMAND": words}), kind)


@pytest.mark.parametrize("kind", ["gcc address", "gcc leak", "gcc thread", "clang thread"])
def test_a_correct_program_starts_behind_a_script_and_with_a_recorder(
    mpiexec, program, script, tmp_path, kind
):
    words = {"TOOL_COMMAND": program(kind), "ASAN_OPTIONS": "detect_stack_use_after_return=1"}
    done = mpiexec("-n", 2, f"--trace={tmp_path / 'it.trace'}", script, environment=words)
    assert done.returncode == 0 and "exercise: right" in done.stdout, done.text
    assert not any(word in done.stderr for word in REPORTS), done.text
    assert (tmp_path / "it.trace").stat().st_size > 0


@pytest.mark.parametrize("kind", ["gcc thread", "clang thread"])
def test_threads_that_mpi_guards_are_right_and_a_race_is_found(mpiexec, program, kind):
    threaded = program(kind, source="threaded.c")
    done = mpiexec("-n", 2, threaded)
    assert done.returncode == 0 and "threaded: right" in done.stdout, done.text
    assert "WARNING: ThreadSanitizer" not in done.stderr, done.text
    done = mpiexec("-n", 2, threaded, "race")
    assert done.returncode != 0 and "data race" in done.stderr and "threaded.c:" in done.stderr, done.text


@pytest.mark.parametrize("kind", KINDS)
def test_info_says_which_heap_the_program_will_have(told, program, kind):
    heap, reason = told(program(kind))
    sanitizer = {"address": "AddressSanitizer", "thread": "ThreadSanitizer", "leak": "LeakSanitizer"}
    expected = sanitizer.get(KINDS[kind][1])
    assert (heap == "private") == (expected is not None)
    assert expected is None or expected in reason, reason
    wrapped = told("-n", 2, "env", "A=B", program(kind))
    assert wrapped == (heap, reason)


def test_the_programs_own_options_of_the_sanitizer_are_kept(mpiexec):
    for before, after in (
        (None, "verify_asan_link_order=0"),
        ("log_path=x", "log_path=x:verify_asan_link_order=0"),
        ("verify_asan_link_order=1:a=b", "verify_asan_link_order=1:a=b"),
    ):
        environment = {"ASAN_OPTIONS": before} if before else {}
        done = mpiexec("-n", 2, "--heap=global", "printenv", "ASAN_OPTIONS", environment=environment)
        assert set(done.stdout.split()) == {after}, done.text
