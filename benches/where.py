#!/usr/bin/env python3
"""Says which parts the instructions of W1 to W3 belong to, as tables for docs/performance.md.

Runs the program `instructions` under callgrind, through the library and by hand, and asks the debug information of
every instruction from which source file it was inlined. What comes from the standard library counts for the first
file of ours, or of the random numbers' crate, that it was inlined into; what was not inlined at all (copies,
allocations) counts as the system's.

    benches/where.py           a table for each workload
    benches/where.py --files   and the lines of the sources that cost most
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter

PARTS = [
    ("random numbers", r"chacha|rand_core|/src/(rng|math|dist)\b"),
    ("arrivals", r"/src/traffic"),
    ("calendar", r"/src/engine/(calendar|heap|pending|wheel)\.rs"),
    ("flow", r"/src/(engine|client|request|time)\b"),
    ("limiter, queue, downstream", r"/src/(limiter|admission|queue|downstream)\b"),
    ("percentiles, histograms", r"/src/observe/percentiles"),
    ("accounting", r"/src/(observe|gauge)\b"),
    ("rows of CSV", r"/src/report"),
    ("written by hand", r"benches/limit\.rs"),
]
COST = re.compile(r"(0x[0-9a-f]+|\+\d+|\+0x[0-9a-f]+|-\d+|-0x[0-9a-f]+|\*) \S+ (\d+)$")
OURS = re.compile(r"^(?!.*/(rustc|rust|registry)/).*(src|benches)/|chacha|rand_core")


def counts(path, program):
    """Instructions by address in the program, and the number of those elsewhere."""
    by_address, elsewhere, address, skip, inside = Counter(), 0, 0, False, False
    names = {}
    with open(path) as lines:
        for line in lines:
            if line.startswith(("ob=", "cob=")):
                # The name is given once, then its number alone.
                number, _, name = line.strip().partition("=")[2].partition(" ")
                if name:
                    names[number] = name
            if line.startswith("ob="):
                inside = names[number].endswith(program.rsplit("/", 1)[-1])
            elif line.startswith("calls="):
                skip = True
                continue
            match = COST.match(line)
            if not match:
                continue
            where = match[1]
            if where.startswith("0x"):
                address = int(where, 16)
            elif where != "*":
                address += int(where, 0)
            if skip:
                # The line after `calls=` has the cost of what was called.
                skip = False
            elif inside:
                by_address[address] += int(match[2])
            else:
                elsewhere += int(match[2])
    return by_address, elsewhere


def files(program, addresses):
    """The file that each address counts for."""
    with tempfile.NamedTemporaryFile("w") as list_of_them:
        list_of_them.write("\n".join(hex(address) for address in addresses))
        list_of_them.flush()
        with open(list_of_them.name) as stdin:
            out = subprocess.run(
                ["addr2line", "-a", "-i", "-e", program], stdin=stdin, capture_output=True, text=True
            ).stdout
    found, current = {}, None
    for line in out.splitlines():
        if line.startswith("0x"):
            current = int(line, 16)
            found[current] = "system"
        elif found[current] == "system" and OURS.search(line):
            found[current] = line.split(" ")[0]
    return found


def build():
    """The program, without the command's features, so that there is less to link."""
    command = "cargo build --release --no-default-features --bench instructions --message-format=json".split()
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    programs = [json.loads(line).get("executable") for line in lines if '"instructions"' in line]
    return [program for program in programs if program][-1]


def part_of(place):
    for part, pattern in PARTS:
        if re.search(pattern, place):
            return part
    return "system"


def measure(program, workload, way):
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={out.name}"]
        run = subprocess.run(command + [program, workload, way], capture_output=True, text=True, check=True)
        by_address, elsewhere = counts(out.name, program)
    calls = int(run.stdout)
    # Most addresses belong to the start of the process and are run a few times.
    often = {address: count for address, count in by_address.items() if calls <= 1000 * count}
    places = files(program, sorted(often))
    by_part, by_place = Counter(), Counter({"system": elsewhere / calls})
    for address, count in by_address.items():
        by_place[places.get(address, "system")] += count / calls
    for place, count in by_place.items():
        by_part[part_of(place)] += count
    return by_part, by_place


def main():
    by_file = "--files" in sys.argv[1:]
    program = build()
    for workload in ["W1", "W2", "W3"]:
        (ours, places), (hand, _) = (measure(program, workload, way) for way in ["library", "hand"])
        print(f"\n| {workload}: instructions per call | tidegate | limit |\n|---|---:|---:|")
        for part in [part for part, _ in PARTS] + ["system"]:
            if ours[part] + hand[part] >= 0.5:
                print(f"| {part} | {ours[part]:.0f} | {hand[part]:.0f} |")
        print(f"| **together** | **{sum(ours.values()):.0f}** | **{sum(hand.values()):.0f}** |")
        if by_file:
            for place, count in places.most_common(45):
                print(f"{count:8.1f}  {place}")


main()
