// Why a Python program has no hooks, in one line with the remedy.
//
// Known before it runs: switches that keep the interpreter from reading PYTHONPATH or from
// importing sitecustomize, and a genscope without its Python package. Known after: what our
// sitecustomize has left in the run's folder, one small file for each interpreter that could not
// load the package.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace genscope::watch {

struct PythonTrouble {
  std::string reason, remedy;
};

// Of a command as the shell got it; nothing for what is no Python program as far as words and a
// script's first line tell. `injection`: as find_injection().
std::optional<PythonTrouble> python_trouble(const std::vector<std::string>& command,
                                            const std::string& injection);

// Whether it is one, as far as that can be told.
bool is_python_program(const std::vector<std::string>& command);

// What interpreters left in `run_dir`, the first of them; takes the files away.
std::optional<PythonTrouble> take_python_notes(const std::string& run_dir);

// Starts `interpreter` as `genscope run` would and looks whether the hooks are there.
std::optional<PythonTrouble> try_python(const std::string& interpreter,
                                        const std::string& injection);

}  // namespace genscope::watch
