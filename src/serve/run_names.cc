#include "serve/run_names.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "base/suggest.h"
#include "serve/runs.h"
#include "store/manifest.h"

namespace genscope::serve {
namespace {

// N of "last~N"; 0 of "last" and ""; nothing of another word.
std::optional<std::size_t> before_last(std::string_view word) {
  if (word.empty() || word == "last") return 0;
  if (!word.starts_with("last~")) return std::nullopt;
  word.remove_prefix(5);
  std::size_t steps = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), steps);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return steps;
}

Error no_runs(const std::string& folder) {
  return {ErrorCode::not_found,
          fmt::format("there is no run in {} yet; record one: genscope run -- CMD", folder)};
}

Error ambiguous(const std::string& word, const std::vector<const RunEntry*>& found) {
  constexpr std::size_t kMost = 4;
  std::string text = fmt::format("'{}' begins the names of {} runs:", word, found.size());
  for (std::size_t i = 0; i < found.size() && i < kMost; ++i) text += " " + found[i]->id;
  return {ErrorCode::invalid_argument, text + (found.size() > kMost ? " ..." : "")};
}

Error unknown(const std::string& word, const std::string& folder,
              const std::vector<RunEntry>& runs) {
  std::vector<std::string> names;
  for (const RunEntry& run : runs) {
    names.push_back(run.id);
    names.push_back(run.name);
  }
  const std::string near = base::nearest(word, names);
  return {ErrorCode::not_found,
          fmt::format("'{}' is neither a path nor the name of a run in {}{}; `genscope list` shows "
                      "your runs",
                      word, folder, near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

}  // namespace

std::string default_folder() { return store::runs_folder(); }

Result<std::string> resolve_run(const std::string& word, const std::string& folder) {
  std::error_code ignored;
  const std::optional<std::size_t> steps = before_last(word);
  if (!steps && (word.find('/') != std::string::npos || std::filesystem::exists(word, ignored))) {
    return word;
  }
  if (!std::filesystem::is_directory(folder, ignored)) {
    if (steps) return no_runs(folder);
    return unknown(word, folder, {});
  }
  const Result<std::vector<RunEntry>> runs = list_runs(folder);
  if (!runs) return runs.error();
  if (steps) {
    if (runs->empty()) return no_runs(folder);
    if (*steps < runs->size()) return (*runs)[*steps].path;
    return Error{
        ErrorCode::not_found,
        fmt::format("{}: there {} only {} in {}", word, runs->size() == 1 ? "is" : "are",
                    runs->size() == 1 ? "1 run" : fmt::format("{} runs", runs->size()), folder)};
  }
  std::vector<const RunEntry*> begins;
  const RunEntry* named = nullptr;
  for (const RunEntry& run : *runs) {
    if (run.id == word) return run.path;
    if (named == nullptr && run.name == word) named = &run;
    if (run.id.starts_with(word)) begins.push_back(&run);
  }
  if (named != nullptr) return named->path;
  if (begins.size() == 1) return begins.front()->path;
  if (!begins.empty()) return ambiguous(word, begins);
  return unknown(word, folder, *runs);
}

}  // namespace genscope::serve
