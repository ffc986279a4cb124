"""A function as the thing under test: which arguments it gets, what its exceptions mean, and in
which process it runs."""
from __future__ import annotations

import inspect
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

# (failure class or None, detail, seconds, metrics, files): what the core takes.
Answer = Tuple[Optional[str], str, Optional[float], Optional[Dict[str, float]], Optional[List[str]]]


class Sample:
    """What a function may return to say more than that it ended.

        def generate(prompt, seed):
            image = pipeline(prompt, seed)
            image.save("out.png")
            return gs.bench.Sample(metrics={"tokens": 77}, outputs=["out.png"])

    `seconds` replaces the time around the call; `outputs` are compared between the sides.
    """

    def __init__(self, seconds: Optional[float] = None, metrics: "Optional[Dict[str, float]]" = None,
                 outputs: "Optional[List[str]]" = None) -> None:
        self.seconds, self.metrics, self.outputs = seconds, metrics, outputs


def accepted(function: Callable[..., Any]) -> "Tuple[List[str], List[str], bool]":
    """Names that it can be given, those it can be given in order, and whether it takes any name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], ["?"], False  # of C: one argument is tried
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD,
                                                       p.VAR_POSITIONAL)]
    return names, places, any(p.kind is p.VAR_KEYWORD for p in parameters)


def binder(function: Callable[..., Any], params: "Dict[str, Any]") -> Callable[..., Any]:
    """call(prompt, seed, iteration) with what the function takes: prompt, seed, iteration and
    parameters by name. A prompt goes in the first place if nothing is called so."""
    names, places, any_name = accepted(function)

    def call(prompt: str, seed: Optional[int], iteration: int, texts: "Dict[str, str]") -> Any:
        values = {name: params[name] if name in params else number_in(text)
                  for name, text in {**params, **texts}.items() if any_name or name in names}
        given = {"prompt": prompt or None, "seed": seed, "iteration": iteration}
        for name, value in given.items():
            if value is not None and name in names:
                values[name] = value
        free = [place for place in places if place not in values]
        if prompt and "prompt" not in values and free:
            return function(prompt, **values)
        return function(**values)

    return call


def number_in(text: str) -> Any:
    """A parameter of a suite as a number, if it is one; else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def failure_of(error: BaseException) -> "Tuple[str, str]":
    """The class of failure that an exception is, and what it says."""
    name = type(error).__name__
    text = f"{name}: {error}" if str(error) else name
    if "OutOfMemory" in name or "CUDA out of memory" in str(error):
        return "oom_gpu", text
    if isinstance(error, MemoryError):
        return "oom_host", text
    if isinstance(error, TimeoutError):
        return "timeout", text
    return "crash", text


def timed(call: Callable[..., Any], *args: Any) -> Answer:
    """Calls and times it. An Exception is a failure; what else is raised goes on (Ctrl-C)."""
    began = time.perf_counter_ns()
    try:
        value = call(*args)
    except Exception as error:
        kind, text = failure_of(error)
        return kind, text, None, None, None
    seconds = (time.perf_counter_ns() - began) * 1e-9
    if isinstance(value, Sample):
        return (None, "", seconds if value.seconds is None else value.seconds, value.metrics,
                [str(path) for path in value.outputs or []])
    return None, "", seconds, None, None


class InProcess:
    """Calls the function here."""

    def __init__(self, function: Callable[..., Any], params: "Dict[str, Any]") -> None:
        self._call = binder(function, params)

    def measure(self, prompt: str, seed: Optional[int], iteration: int, warmup: bool,
                params: "Dict[str, str]") -> Answer:
        return timed(self._call, prompt, seed, iteration, params)

    def subject(self) -> "Tuple[Any, ...]":
        return ("function", None, self.measure, None)


def _serve(pipe: Any, function: Callable[..., Any], params: "Dict[str, Any]") -> None:
    call = binder(function, params)
    pipe.send(None)  # ready
    while True:
        try:
            request = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if request is None:
            return
        try:
            pipe.send(timed(call, *request))
        except KeyboardInterrupt:
            return


class FreshProcess:
    """Each unit is a process of its own, which imports the function, and is warmed up anew."""

    def __init__(self, function: Callable[..., Any], params: "Dict[str, Any]",
                 timeout: Optional[float]) -> None:
        import multiprocessing
        self._context = multiprocessing.get_context("spawn")
        self._function, self._params, self._timeout = function, params, timeout
        self._process: Any = None
        self._pipe: Any = None

    def begin(self) -> Optional[str]:
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, daemon=True,
                                              args=(theirs, self._function, self._params))
        try:
            self._process.start()
        except Exception as error:  # a lambda, or a function inside of another, cannot be sent
            self._process = None
            return (f"{error}: a fresh process imports the function; define it at the top of a "
                    "module, or use isolation='in_process'")
        finally:
            theirs.close()
        try:
            self._pipe.recv()
        except EOFError:
            self._process.join()
            return f"the process ended with {self._process.exitcode} while it imported the function"
        return None

    def measure(self, prompt: str, seed: Optional[int], iteration: int, warmup: bool,
                params: "Dict[str, str]") -> Answer:
        try:
            self._pipe.send((prompt, seed, iteration, params))
            if self._timeout is not None and not self._pipe.poll(self._timeout):
                self._process.kill()
                return "timeout", f"it took more than {self._timeout:g} s", None, None, None
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            return "crash", (f"signal {-code}" if code is not None and code < 0 else f"exit {code}"), None, None, None

    def end(self) -> None:
        if self._process is None:
            return
        try:
            self._pipe.send(None)
        except OSError:
            pass
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()
        self._process = None

    def subject(self) -> "Tuple[Any, ...]":
        return ("function", self.begin, self.measure, self.end)
