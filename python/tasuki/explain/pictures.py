"""What the page shows as pictures: what the ranks do over time, shares by rank, who sends how much.

A picture is a small PNG in which a row is a rank. So a page of 512 ranks is no larger than one of 8, and what
is shorter than a point mixes into its color.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from tasuki.explain.course import Course, Lane, is_file

STATES = ("computing", "waiting", "communication", "files")
# Red, green, blue and how opaque: on light paper and on dark.
COLORS = np.array(
    [(120, 144, 140, 80), (214, 82, 40, 255), (40, 116, 190, 255), (140, 90, 190, 255)], dtype=np.float64
)
COLUMNS = 1000


def png(pixels: np.ndarray) -> str:
    """As a data URI; `pixels`: rows, columns, and RGBA as bytes."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n"
    for kind, payload in chunks:
        data += struct.pack(">I", len(payload)) + kind + payload
        data += struct.pack(">I", zlib.crc32(kind + payload))
    return "data:image/png;base64," + base64.b64encode(data).decode()


def spans(lane: Lane) -> dict[str, np.ndarray]:
    """Of each state its begins and ends, one behind another."""
    found: dict[str, list[tuple[float, float]]] = {state: [] for state in STATES}
    for step in lane.steps:
        found["computing"].append((step.begin - step.gap, step.begin))
        waited = step.begin + sum(wait.seconds for wait in step.waits)
        if waited > step.begin:
            found["waiting"].append((step.begin, min(waited, step.end)))
        found["files" if is_file(step.name) else "communication"].append((min(waited, step.end), step.end))
    return {state: np.array(pairs or [(0.0, 0.0)]) for state, pairs in found.items()}


def in_bins(pairs: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How much of each bin the spans cover."""
    lengths = np.maximum(pairs[:, 1] - pairs[:, 0], 0.0)
    ends = np.cumsum(lengths)
    times = np.column_stack((pairs[:, 0], pairs[:, 0] + lengths)).ravel()
    covered = np.column_stack((ends - lengths, ends)).ravel()
    return np.diff(np.interp(edges, np.maximum.accumulate(times), covered))


def mixed(parts: np.ndarray) -> np.ndarray:
    """Colors of shares (…, state); where there is none nothing is drawn."""
    weights = parts[..., None] * COLORS[:, 3:] / 255
    opaque = weights.sum(axis=-2)
    colors = (weights * COLORS[:, :3]).sum(axis=-2) / np.maximum(opaque, 1e-12)
    return np.concatenate((colors, 255 * np.minimum(opaque, 1.0)), axis=-1)


def timeline(course: Course, columns: int = COLUMNS) -> str:
    """A row for each thread of each rank."""
    edges = np.linspace(course.begin, course.end, columns + 1)
    width = max((course.end - course.begin) / columns, 1e-12)
    rows = []
    for lane in course.lanes:
        of_lane = spans(lane)
        rows.append(np.column_stack([in_bins(of_lane[state], edges) for state in STATES]) / width)
    return png(mixed(np.clip(np.array(rows), 0.0, 1.0)))


def sums(course: Course) -> np.ndarray:
    """Seconds of each lane in each state."""
    found = []
    for lane in course.lanes:
        of_lane = spans(lane)
        found.append([float((pairs[:, 1] - pairs[:, 0]).sum()) for pairs in of_lane.values()])
    return np.array(found)


def stacked(shares: np.ndarray, height: int = 100) -> str:
    """A column for each lane, its shares one above the other: computing at the foot."""
    levels = (np.arange(height)[::-1] + 0.5) / height
    tops = np.cumsum(shares, axis=1)
    pixels = np.zeros((height, len(shares), 4))
    for state in reversed(range(len(STATES))):
        pixels[levels[:, None] < tops[None, :, state]] = COLORS[state]
    return png(pixels)


def matrix(amounts: np.ndarray) -> str:
    """From each rank (rows) to each other: the more the darker, by the logarithm."""
    there = amounts > 0
    low, high = amounts[there].min(initial=np.inf), amounts.max(initial=0.0)
    depth = np.zeros(amounts.shape)
    if there.any():
        span = np.log(high / low) if high > low else 1.0
        depth[there] = 0.25 + 0.75 * (np.log(amounts[there] / low) / span if high > low else 1.0)
    pixels = np.zeros((*amounts.shape, 4))
    pixels[..., :3] = COLORS[2][:3]
    pixels[..., 3] = 255 * depth
    return png(pixels)
