"""gs.bench.run, gs.bench.ab and gs.bench.run_suite."""
from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from .. import _core
from ._function import FreshProcess, InProcess, Sample
from ._result import Result, check_values

Subject = Union[str, Sequence[str], Callable[..., Any]]


def _words(what: Subject) -> "List[str]":
    """Of a command without a shell."""
    if isinstance(what, (list, tuple)):
        return [str(word) for word in what]
    raise TypeError(f"a command (str), its words (list) or a function is measured, not {type(what).__name__}")


def run(what: Subject, **options: Any) -> Result:
    """Measures one thing until the interval of its median is narrow enough.

        gs.bench.run("python gen.py", budget=60).median()
        gs.bench.run(generate, prompts=["a cat"], seeds=[1, 2, 3])

    `what`: a command for the shell, a list of words, or a function, which is given what it takes of
    prompt, seed, iteration and `params`. Options:

    runs            exactly so many; else min_runs (4) to max_runs (40)
    budget          seconds after which none is added
    half_width      relative: stop when the interval is this narrow
    warmup          runs that do not count, at most (3)
    iterations      calls within a run; a run's value is their median
    prompts, seeds  taken in turn
    params          a dict: {name} in commands, arguments of functions
    isolation       of functions: "in_process", or "process": each run in a process of its own
    timeout         seconds of one call: of commands, and of functions in processes of their own
    prepare, cleanup, cwd, env, outputs   of commands
    min_effect, confidence, noise, order, random_seed
    save            keep it for `genscope bench history`
    progress        True for a line on stderr, or f(done, expected, eta_seconds)
    """
    return _measure(what, None, options)


def ab(a: Subject, b: Subject, **options: Any) -> Result:
    """Two things in turns (A B B A): is B faster?

        result = gs.bench.ab("python gen.py", "python gen.py --compile", outputs=["out.png"])
        result.verdict, result.ratio, result.interval

    Options as run() has them, and: quality (compare what both made; on by itself where there are
    outputs), quality_command ('python clip.py {before} {after}'), quality_rules (["ssim.min=0.9"]),
    strict.
    """
    return _measure(a, b, options)


def run_suite(path: "Union[str, os.PathLike]", callable: Optional[Callable[..., Any]] = None, *,
              budget: Optional[float] = None, out: Optional[str] = None, resume: Optional[str] = None,
              only: Optional[str] = None, strict: bool = False, random_seed: int = 1,
              progress: Any = None) -> Result:
    """Runs a suite file (docs/bench-suite.md): every cell of its matrix, judged.

        gs.bench.run_suite("suite.yaml", budget=600).exit_code
        gs.bench.run_suite("suite.yaml", callable=generate)   # of `runner: {kind: callable}`

    `callable` gets what its signature takes of prompt, seed, iteration and the cell's parameters.
    `resume`: folder of a run to go on with. `progress`: f(cells_done, cells, eta_seconds).
    """
    spec = {"budget_s": budget, "out": out, "resume": resume, "only": only, "strict": strict,
            "random_seed": random_seed}
    subject = None if callable is None else InProcess(callable, {}).subject()
    return Result(_core.bench_suite(os.fspath(path), subject, spec, _progress(progress)))


_PLAIN = ("half_width", "prompts", "seeds", "params", "prepare", "cleanup", "cwd", "env", "outputs", "min_effect",
          "confidence", "noise", "order", "random_seed", "save", "strict", "quality", "quality_command",
          "quality_rules", "show_output", "name")
_OWN = ("runs", "min_runs", "max_runs", "budget", "warmup", "iterations", "isolation", "timeout", "progress")


def _spec(options: "Dict[str, Any]") -> "Dict[str, Any]":
    for name in options:
        if name not in _PLAIN and name not in _OWN:
            import difflib
            near = difflib.get_close_matches(name, [*_PLAIN, *_OWN], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"there is no option {name!r}{hint}")
    order = options.get("order", "abba")
    if order not in ("abba", "latin", "random", "blocks"):
        raise ValueError(f"order must be abba, latin, random or blocks, and is {order!r}")
    check_values(options)
    spec = {name: options[name] for name in _PLAIN if options.get(name) is not None}
    runs = options.get("runs")
    names = {"min_runs": "units_min", "max_runs": "units_max", "budget": "budget_s",
             "warmup": "warmup_max", "timeout": "timeout_s", "iterations": "iterations_max"}
    spec.update({ours: options[theirs] for theirs, ours in names.items() if options.get(theirs) is not None})
    if runs is not None:
        spec["units_min"] = spec["units_max"] = runs
    elif "units_max" in spec and "units_min" not in spec:
        spec["units_min"] = min(4, spec["units_max"])
    if "iterations_max" in spec:
        spec["iterations_min"] = spec["iterations_max"]
    return spec


def _subject(what: Subject, options: "Dict[str, Any]") -> "tuple[Any, ...]":
    if isinstance(what, str):
        return ("command", what)
    if callable(what):
        isolation = options.get("isolation", "in_process")
        if isolation == "in_process":
            return InProcess(what, options.get("params") or {}).subject()
        if isolation == "process":
            return FreshProcess(what, options.get("params") or {}, options.get("timeout")).subject()
        raise ValueError(f"isolation must be 'in_process' or 'process', and is {isolation!r}")
    words = _words(what)
    if not words:
        raise ValueError("an empty command cannot be measured")
    return ("argv", words)


def _label(what: Subject) -> str:
    if isinstance(what, str):
        return what
    if callable(what):
        return getattr(what, "__qualname__", repr(what))
    return " ".join(_words(what))


def _progress(wanted: Any) -> Optional[Callable[..., None]]:
    if not wanted:
        return None
    if callable(wanted):
        return wanted

    def tell(done: int, expected: int, eta: Optional[float]) -> None:
        left = "" if eta is None else f", {eta:.0f} s left"
        print(f"\r{done} of about {max(done, expected)} runs{left}   ", end="", file=sys.stderr, flush=True)

    return tell


def _measure(a: Subject, b: Optional[Subject], options: "Dict[str, Any]") -> Result:
    spec = _spec(options)
    spec["label_a"] = _label(a)
    if b is not None:
        spec["label_b"] = _label(b)
        spec.setdefault("quality", True)
    first = _subject(a, options)
    second = None if b is None else _subject(b, options)
    text = _core.bench_measure(first, second, spec, _progress(options.get("progress")))
    if options.get("progress") is True:
        print(file=sys.stderr)
    return Result(text)


__all__ = ["Sample", "ab", "run", "run_suite"]
