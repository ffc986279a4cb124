"""Benchmarks: measure again and again, in a fair order, and say with an interval what changed.

    import genscope as gs

    result = gs.bench.ab(generate_before, generate_after, prompts=["a cat"], seeds=[1, 2])
    print(result)                 # one sentence, then the figures
    assert result.verdict == "improved", result.reason

What is measured is a command (a str for the shell, or a list of words) or a function. The C++ core
does the work; docs/bench.md has the method, docs/bench-validate.md the Python part.
"""
from ._measure import Sample, ab, run, run_suite
from ._result import Comparison, Interval, Judgement, Result, compare, judge, load

__all__ = ["Comparison", "Interval", "Judgement", "Result", "Sample", "ab", "compare", "judge", "load", "run",
           "run_suite"]
