// The directory of a new run and its manifest: made by the program that records, or by one that
// runs another.
#pragma once

#include <string>
#include <string_view>

#include "genscope/error.h"

namespace genscope::trace {

// A new directory <out>/<YYYYmmdd-HHMMSS>-<name>-<pid>, in local time, and its path.
Result<std::string> make_run_folder(const std::string& out, std::string_view name);

// The text of run.json. `id`: the directory's name; `command_json`: an array.
std::string manifest_json(std::string_view id, std::string_view name,
                          std::string_view command_json);

std::string host_name();

}  // namespace genscope::trace
