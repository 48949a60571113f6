"""What ranks waited for: late ends of messages, chains of ranks that wait, the last ones at collectives."""

from __future__ import annotations

import collections

from tasuki.explain.course import Course, Step, Wait, Work, is_file
from tasuki.explain.finding import CANDIDATES_MAX, Finding, call_text, ranks_text, they
from tasuki.units import time_text

LEAST = 0.005  # of the program's time: what waits less together can gain no more
FEW = 0.05  # of the longest wait of a rank: who waits less is not named
LARGE = 0.25  # of what several ranks gain together: where two gain so much, all are one finding
ABOUT = 0.1  # of the time between the first one and the last: these ranks came together

# By kind, and whether the late rank waited itself: what it could do earlier.
EARLIER = {
    ("late_sender", False): "send it before that work",
    ("late_sender", True): "send it before that wait",
    ("late_receiver", False): "receive it before that work, or send by MPI_Isend",
    ("late_receiver", True): "each waits for one that waits itself: begin receives by MPI_Irecv before "
    "sending, or exchange by MPI_Sendrecv",
}


def find_chains(course: Course, waits: list[Wait]) -> None:
    for wait in waits:
        if wait.seconds < 1e-4 * course.seconds / max(1, len(course.lanes)) and len(waits) > 10_000:
            continue  # so short that it changes nothing
        earlier = [one for one in course.find_behind(wait) if one.kind == "late_sender"]
        ranks = {wait.waiter.place.rank, wait.late.place.rank, *(one.late.place.rank for one in earlier)}
        if wait.kind == "late_sender" and len(ranks) > 2:
            wait.chain = True
            for one in earlier:
                one.chain = True


def chains(course: Course, waits: list[Wait]) -> list[Finding]:
    found = []
    links: dict[tuple, list[Wait]] = collections.defaultdict(list)
    for wait in waits:
        if wait.chain:
            links[wait.waiter.phase].append(wait)
    for phase, members in links.items():
        gain = course.seconds - course.run(dropped=alike(course, members))
        ranks = sorted({wait.waiter.place.rank for wait in members} | {w.late.place.rank for w in members})
        seconds = sum(wait.seconds for wait in members)
        name, at = most(members, lambda wait: (wait.late.name, wait.late.at))
        found.append(
            Finding(
                "chain",
                f"{ranks_text(ranks)} work one after another: each waits for a message "
                f"({call_text(name, at, phase)}) of a rank that waits itself, {time_text(seconds)} together",
                "let all begin at once: break the dependence, or send pieces as soon as they are ready",
                gain,
                0.0,
                ranks,
                name,
                phase,
                seconds,
                at,
            )
        )
    return found


def alike(course: Course, members: list[Wait]) -> set[Step]:
    """All receives by these calls, also those that did not wait: they would, had others not waited before."""
    calls = {(wait.waiter.name, wait.waiter.phase, wait.waiter.at) for wait in members}
    return {
        step
        for lane in course.lanes
        for step in lane.steps
        if (step.name, step.phase, step.at) in calls and any(kind == "late_sender" for kind, _ in step.needs)
    }


def late_ranks(course: Course, waits: list[Wait]) -> list[Finding]:
    """Messages whose other end came late because it computed, or was in another call."""
    groups: dict[tuple, list[Wait]] = collections.defaultdict(list)
    together: dict[tuple, list[Wait]] = collections.defaultdict(list)
    for wait in waits:
        # Behind calls of its own: that is the latency of messages, no lateness.
        if (
            wait.kind != "collective"
            and not wait.chain
            and (wait.behind in ("computing", "waiting") or is_file(wait.behind))
        ):
            late = wait.late
            groups[wait.kind, late.place.rank, late.name, late.phase, late.at].append(wait)
            together[wait.kind, -1, late.name, late.phase, late.at].append(wait)
    found, alone = [late_rank(course, *one) for one in longest(course, groups)], {}
    for one in found:
        alone[one.kind] = max(alone.get(one.kind, 0.0), one.gain_seconds)
    for key, members in longest(course, together):
        if len({wait.late.place.rank for wait in members}) > 1:
            one = late_rank(course, key, members)
            of_it = [part for part in found if part.call == one.call]
            large = [part for part in of_it if part.gain_seconds > LARGE * one.gain_seconds]
            if one.gain_seconds > 1.5 * alone.get(one.kind, 0.0) or len(large) > 1:
                found = [part for part in found if part not in of_it] + [one]
    return found


def late_rank(course: Course, key: tuple, members: list[Wait]) -> Finding:
    kind, rank, name, phase, at = key
    in_time = course.seconds - course.run(dropped={wait.waiter for wait in members})
    work = Work(course)
    for wait in members:
        work.share([wait.waiter, wait.late])
    shared = course.seconds - course.run(gaps=work.gaps)
    late = sorted({wait.late.place.rank for wait in members})
    waiting = sorted({wait.waiter.place.rank for wait in members})
    seconds = sum(wait.seconds for wait in members)
    after = after_of(members)
    behind = {
        "computing": f"behind computing{' after ' + after if after else ''}",
        "waiting": f"behind waits of {'its' if len(late) == 1 else 'their'} own",
    }
    why = most(members, lambda wait: wait.behind)
    call = call_text(*most(members, lambda wait: (wait.waiter.name, wait.waiter.at)))
    verb = "send" if kind == "late_sender" else "receive"
    text = (
        f"{they(late, verb)} late ({call_text(name, at, phase)}), {behind.get(why, f'in {why}')}: "
        f"{they(waiting, 'wait')} in {call} "
        f"{times(len(members))}, {time_text(seconds)} together"
    )
    if in_time >= shared:
        advice = EARLIER[kind, why == "waiting"]
    elif set(late) & set(waiting):
        advice = "share the work evenly: now one of them is late, now another"
    else:
        advice = f"give part of the work of {ranks_text(late)} to {ranks_text(waiting)}"
    gain = max(in_time, shared, 0.0)
    return Finding(kind, text, advice, gain, 0.0, late, name, phase, seconds, at, after)


def after_of(members: list[Wait]) -> str:
    """The place behind which those computed that came late."""
    computing = [wait for wait in members if wait.behind == "computing" and wait.after]
    return most(computing, lambda wait: wait.after) if computing else ""


def collectives(course: Course, waits: list[Wait]) -> list[Finding]:
    groups: dict[tuple, list[Wait]] = collections.defaultdict(list)
    for wait in waits:
        if wait.kind == "collective":
            groups[wait.waiter.name, wait.waiter.phase, wait.waiter.at].append(wait)
    of_step = {id(step): steps for steps in course.instances for _, step in steps}
    found = []
    for (name, phase, at), members in longest(course, groups):
        work, done = Work(course), set()
        for wait in members:
            steps = of_step.get(id(wait.late), [(None, wait.waiter), (None, wait.late)])
            if id(wait.late) in of_step and id(steps) in done:
                continue
            done.add(id(steps))
            work.share([step for _, step in steps])
        gain = course.seconds - course.run(gaps=work.gaps)
        seconds = sum(wait.seconds for wait in members)
        late, waiting, last = collections.Counter(), collections.Counter(), {}
        for wait in members:
            if id(wait.late) not in last:
                last[id(wait.late)] = last_ones(wait, of_step.get(id(wait.late)))
            for rank in last[id(wait.late)]:
                late[rank] += wait.seconds
            waiting[wait.waiter.place.rank] += wait.seconds
        ranks = sorted(rank for rank, part in late.items() if part > 0.1 * seconds) or sorted(late)
        longest_rank, longest_wait = waiting.most_common(1)[0]
        waiters = sorted(rank for rank, part in waiting.items() if part >= FEW * longest_wait)
        after = after_of(members)
        behind = f", {'it computes' if len(ranks) == 1 else 'they compute'} after {after}" if after else ""
        found.append(
            Finding(
                "collective",
                f"{they(waiters, 'wait')} in {call_text(name, at, phase)} for {ranks_text(ranks)}, "
                f"{time_text(seconds)} together, rank {longest_rank} longest ({time_text(longest_wait)})",
                f"share the work evenly: {they(ranks, 'come')} last{behind}",
                max(gain, 0.0),
                0.0,
                ranks,
                name,
                phase,
                seconds,
                at,
                after,
            )
        )
    return found


def last_ones(wait: Wait, steps: list | None) -> list[int]:
    """The ranks that came about as late as the last one to this collective."""
    if steps is None:
        return [wait.late.place.rank]
    last = wait.late.begin
    first = min(step.begin for _, step in steps)
    return [step.place.rank for _, step in steps if last - step.begin <= ABOUT * (last - first)]


def longest(course: Course, groups: dict[tuple, list[Wait]]) -> list[tuple[tuple, list[Wait]]]:
    """Those with the longest waits, but for what is too short to gain anything."""
    sums = {key: sum(wait.seconds for wait in members) for key, members in groups.items()}
    found = sorted((key for key in groups if sums[key] >= LEAST * course.seconds), key=lambda key: -sums[key])
    return [(key, groups[key]) for key in found[:CANDIDATES_MAX]]


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def most(waits: list[Wait], name):
    """Of what `name` gives of waits that with the longest ones."""
    sums = collections.Counter()
    for wait in waits:
        sums[name(wait)] += wait.seconds
    return sums.most_common(1)[0][0]
