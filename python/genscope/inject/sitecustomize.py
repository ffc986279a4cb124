"""Start-up of a Python program under `genscope run`: installs the hooks, then steps aside.

The command puts this folder at the head of PYTHONPATH. Python imports `sitecustomize` before the
program; a sitecustomize of the user's own is run after this one, as if ours were not there.
Whatever fails here fails silently: the program is the user's, and comes first. Any Python can read
this file, older ones than genscope's too.
"""


def _genscope_start():
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    try:
        if sys.version_info < (3, 10):
            raise RuntimeError("it is older than 3.10")
        if "genscope" not in sys.modules and os.environ.get("GENSCOPE_INSTRUMENT") != "none" \
                and os.environ.get("GENSCOPE_DISABLE") != "1":
            import importlib.util
            package = os.path.dirname(here)
            spec = importlib.util.spec_from_file_location(
                "genscope", os.path.join(package, "__init__.py"),
                submodule_search_locations=[package])
            module = importlib.util.module_from_spec(spec)
            sys.modules["genscope"] = module
            try:
                spec.loader.exec_module(module)
                from genscope import hooks
                hooks.install_from_environment()
            except BaseException:
                for name in [n for n in sys.modules if n == "genscope" or n.startswith("genscope.")]:
                    del sys.modules[name]
                raise
    except Exception as error:
        if os.environ.get("GENSCOPE_DEBUG"):
            sys.stderr.write("genscope: Python is not instrumented: %r\n" % (error,))
    # The user's own, if there is one further down the path.
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        if ours is not None:  # import looks for the name when ours is done
            sys.modules.setdefault("sitecustomize", ours)


_genscope_start()
del _genscope_start
