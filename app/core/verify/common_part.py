"""Text of the script that needs the standard library alone."""

HEAD = '''#!/usr/bin/env python3
"""Cardworth check of one card: @TITLE@

Measures memory, copy bandwidth, matrix rates and the workload, and prints one JSON object on standard output.

    python @NAME@                  about ten minutes
    python @NAME@ --quick          small sizes, to see whether it runs
    python @NAME@ --out FILE       write the JSON to a file
    cardworth import measurement FILE

Needs @NEEDS@; nothing is installed, downloaded or sent.
"""

import argparse
import contextlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time



def asked():
    parser = argparse.ArgumentParser(description="Measure one card and print JSON. Needs @NEEDS@.")
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds")
    parser.add_argument("--out", help="file for the JSON")
    return parser.parse_args()


if __name__ == "__main__":
    # Before the library is loaded: help needs none.
    asked()
    if importlib.util.find_spec("@MODULE@") is None:
        sys.exit("@NEEDS@ is not installed for " + sys.executable + "; the card is measured with it.")

FORMAT = "cardworth-measurement/1"
QUESTION = json.loads(@QUESTION@)
GIB = 1024.0**3
SMI = (
    "name", "driver_version", "memory.total", "power.limit", "power.default_limit", "clocks.max.sm",
    "pcie.link.gen.max", "pcie.link.width.max", "ecc.mode.current", "ecc.errors.uncorrected.aggregate.total",
    "ecc.errors.corrected.aggregate.total", "retired_pages.double_bit.count",
)
SMI_UNDER_LOAD = ("clocks.sm", "temperature.gpu", "power.draw", "clocks_throttle_reasons.active")


def nvidia_smi(fields=SMI):
    """What the driver says of the first card; empty without the tool."""
    found = {}
    for field in fields:
        # One field at a time: a field that this driver does not know spoils the whole query.
        command = ["nvidia-smi", "--query-gpu=" + field, "--format=csv,noheader,nounits", "--id=0"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return found
        text = done.stdout.strip()
        if done.returncode == 0 and text and "N/A" not in text and "not " not in text.lower():
            try:
                found[field] = float(text)
            except ValueError:
                found[field] = text
    return found


def seconds_per_call(call, wait, budget):
    """Median seconds of one call: two to warm up, then runs until the budget is spent."""
    call()
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    one = max(time.perf_counter() - start, 1e-7)
    inner = max(1, min(1000, int(budget / 20.0 / one)))
    times = []
    end = time.perf_counter() + budget
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 200):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        wait()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)
'''

TAIL = """

def main():
    options = asked()
    quick = options.quick
    result = {
        "format": FORMAT, "question": QUESTION, "quick": quick, "python": sys.version.split()[0],
        "measured_on": time.strftime("%Y-%m-%d", time.gmtime()), "driver": nvidia_smi(), "errors": {},
    }
    parts = (
        ("device", device), ("memory", memory), ("bandwidth", bandwidth), ("rates_tflops", rates),
        ("under_load", under_load), ("workload", workload),
    )
    for name, part in parts:
        print(name + " ...", file=sys.stderr, flush=True)
        try:
            # Standard output is for the JSON alone, whatever a library prints.
            with contextlib.redirect_stdout(sys.stderr):
                result[name] = part(quick)
        except Exception as error:  # One part that fails must not lose the others.
            result["errors"][name] = (type(error).__name__ + ": " + str(error))[:500]
            result[name] = None
    text = json.dumps(result, indent=2, sort_keys=True)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text + "\\n")
    print(text)


if __name__ == "__main__":
    main()
"""
