"""Wrapping methods of other people's classes, in a way that cannot harm them.

Classes are changed, never objects: copies and pickles of objects stay what they were. What ours
raises is told to problem() and does not reach the program; what theirs raises passes unchanged.

    def begin(self, args, kwargs):      # None: this call is of no interest
        return _core.begin("text_encode")
    def end(token, self, result, error):
        _core.end(token, error is not None)
    around(FluxPipeline, "encode_prompt", begin, end)
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional

from ._dynamo import compiling_check, set_eval_frame_of_torch, skip_frame
from ._report import problem

Begin = Callable[[Any, tuple, dict], Any]
End = Callable[[Any, Any, Any, Optional[BaseException]], None]
_MARK = "__genscope_wrapped__"


def is_wrapped(function: Any) -> bool:
    return getattr(getattr(function, "__func__", function), _MARK, False)


def _found(owner: Any, name: str) -> "tuple[Any, bool]":
    """The attribute as it is stored, and whether it is the owner's own rather than inherited."""
    own = vars(owner)
    if name in own:
        return own[name], True
    return inspect.getattr_static(owner, name, None), False


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]],
         target: str = "", traced: bool = False) -> bool:
    """Sets `owner.name`, of a class or module, to make(original), once. False, with problem() under
    the name `target`, if there is nothing to wrap or it cannot be changed.

    An inherited method is looked up at each call, since its base may be patched later.
    """
    target = target or f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', owner)}"
    stored, own = _found(owner, name)
    if stored is None:
        problem(target, f"it has no {name}")
        return False
    if is_wrapped(stored):
        return True
    kind = type(stored) if isinstance(stored, (classmethod, staticmethod)) else None
    function = stored.__func__ if kind is not None else stored
    if not callable(function):
        problem(target, f"its {name} is no function but {type(stored).__name__}")
        return False
    original = function if own or kind is not None else _inherited(owner, name, function)
    try:
        made = _dressed(make(original), function)
        if traced:
            for ours in {original, made} - {function}:
                skip_frame(ours.__code__)
        setattr(owner, name, kind(made) if kind is not None else made)
    except (AttributeError, TypeError) as error:
        problem(target, f"its {name} cannot be replaced: {error}")
        return False
    return True


def _dressed(made: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    functools.update_wrapper(made, function)
    setattr(made, _MARK, True)
    code = getattr(made, "__code__", None)
    if code is not None:  # a code object each: dynamo keeps its caches and limits by code object
        made.__code__ = code.replace(co_name=getattr(function, "__name__", code.co_name))
    return made


def _inherited(owner: type, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if name == "__call__":
        def call(self, *args, **kwargs):
            return super(owner, self).__call__(*args, **kwargs)
        return call
    if inspect.iscoroutinefunction(function):
        async def asynchronous(self, *args, **kwargs):
            return await getattr(super(owner, self), name)(*args, **kwargs)
        return asynchronous

    def inherited(self, *args, **kwargs):
        return getattr(super(owner, self), name)(*args, **kwargs)
    return inherited


def around(owner: Any, name: str, begin: Begin, end: End, target: str = "",
           traced: bool = False) -> bool:
    """Calls begin before and end after each call of `owner.name`, once for each class.

    `end(token, self, result, error)` follows each begin that gave something other than None; error
    is what the method raised. `self` is the class for a class method; for a static method or a
    function of a module it is the first argument, or None. traced: torch.compile may meet it.
    """
    label = target or str(getattr(owner, "__qualname__", getattr(owner, "__name__", owner)))
    label = f"{label}.{name}"

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(original):
            return _around_coroutine(original, begin, end, label)
        if traced:
            return _around_traced(original, begin, end, label)
        return _around_call(original, begin, end, label)
    return wrap(owner, name, make, target, traced)


def _begun(begin: Begin, label: str, args: tuple, kwargs: dict) -> Any:
    try:
        return begin(args[0] if args else None, args[1:], kwargs)
    except Exception as error:
        problem(label, f"at its begin: {error!r}")
        return None


def _ended(end: End, label: str, token: Any, args: tuple, result: Any,
           error: Optional[BaseException]) -> None:
    try:
        end(token, args[0] if args else None, result, error)
    except Exception as ours:
        problem(label, f"at its end: {ours!r}")


def _around_call(original, begin, end, label):
    def call(*args, **kwargs):
        token = _begun(begin, label, args, kwargs)
        if token is None:
            return original(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            _ended(end, label, token, args, None, error)
            raise
        _ended(end, label, token, args, result, None)
        return result
    return call


def _around_traced(original, begin, end, label):
    """As _around_call, for what torch.compile may meet: dynamo sees the original alone."""
    compiling, set_eval_frame = compiling_check(), set_eval_frame_of_torch()

    def call(*args, **kwargs):
        if compiling():
            return original(*args, **kwargs)
        compiler = set_eval_frame(None)
        try:
            token = _begun(begin, label, args, kwargs)
        finally:
            set_eval_frame(compiler)
        if token is None:
            return original(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            set_eval_frame(None)
            try:
                _ended(end, label, token, args, None, error)
            finally:
                set_eval_frame(compiler)
            raise
        set_eval_frame(None)
        try:
            _ended(end, label, token, args, result, None)
        finally:
            set_eval_frame(compiler)
        return result
    return call


def _around_coroutine(original, begin, end, label):
    async def call(*args, **kwargs):
        token = _begun(begin, label, args, kwargs)
        if token is None:
            return await original(*args, **kwargs)
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            _ended(end, label, token, args, None, error)
            raise
        _ended(end, label, token, args, result, None)
        return result
    return call
