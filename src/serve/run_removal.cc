#include "serve/run_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/file.h"

namespace genscope::serve {
namespace {

namespace fs = std::filesystem;

// Between making a run and its first trace lie milliseconds.
constexpr std::int64_t kJustMadeNs = 60'000'000'000;

// The number before the unit; nothing if there is none.
std::optional<double> split_unit(std::string_view text, std::string_view& unit) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

template <std::size_t N>
std::optional<double> scaled(std::string_view text,
                             const std::array<std::pair<std::string_view, double>, N>& units) {
  std::string_view unit;
  const auto value = split_unit(text, unit);
  if (!value) return std::nullopt;
  for (const auto& [name, scale] : units) {
    constexpr double kMost = 9e18;
    if (name == unit && *value * scale < kMost) return *value * scale;
  }
  return std::nullopt;
}

bool holds_current_folder(const std::string& path) {
  std::error_code error;
  const fs::path run = fs::weakly_canonical(path, error);
  const fs::path here = error ? fs::path() : fs::current_path(error);
  if (error) return false;
  return std::mismatch(run.begin(), run.end(), here.begin(), here.end()).first == run.end();
}

}  // namespace

std::uint64_t folder_bytes(const std::string& path) {
  std::uint64_t sum = 0;
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(ignored) || it->is_symlink(ignored)) continue;
    const std::uintmax_t bytes = it->file_size(ignored);
    if (!ignored) sum += bytes;
  }
  return sum;
}

std::string why_it_stays(const RunEntry& run) {
  const Result<std::optional<RunEntry>> now = run_at(run.path);
  if (!now) return now.error().message;
  if (!*now) return "it is no run";
  if ((*now)->in_progress) return "it is in progress";
  const bool just_made = !(*now)->exit_code && (*now)->traces == 0 &&
                         base::realtime_ns() - (*now)->started_unix_ns < kJustMadeNs;
  if (just_made) return "it has only just begun";
  if (holds_current_folder(run.path)) return "the current folder is in it";
  return "";
}

Status remove_run(const RunEntry& run) {
  const std::string why = why_it_stays(run);
  if (!why.empty()) return Error{ErrorCode::invalid_argument, run.path + " stays: " + why};
  std::error_code error;
  fs::remove_all(run.path, error);
  if (error) return base::errno_error("cannot remove", run.path, error.value());
  return Done{};
}

std::vector<RunEntry> to_prune(const std::vector<RunEntry>& runs, const PruneRule& rule,
                               std::int64_t now_unix_ns) {
  std::uint64_t all = 0;
  if (rule.over_bytes) {
    for (const RunEntry& run : runs) all += folder_bytes(run.path);
  }
  std::vector<RunEntry> gone;
  for (std::size_t i = runs.size(); i-- > 0;) {
    const RunEntry& run = runs[i];
    const bool wanted = (rule.keep && i >= *rule.keep) ||
                        (rule.older_ns && now_unix_ns - run.started_unix_ns > *rule.older_ns) ||
                        (rule.over_bytes && all > *rule.over_bytes);
    if (!wanted || run.in_progress || !run.tags.empty()) continue;
    if (rule.over_bytes) all -= std::min(all, folder_bytes(run.path));
    gone.push_back(run);
  }
  return gone;
}

std::optional<std::int64_t> parse_age(std::string_view text) {
  constexpr double kMinute = 60e9, kHour = 60 * kMinute, kDay = 24 * kHour;
  static constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"min", kMinute}, {"h", kHour}, {"d", kDay}, {"w", 7 * kDay}, {"y", 365 * kDay}}};
  const auto ns = scaled(text, kUnits);
  return ns ? std::optional(static_cast<std::int64_t>(*ns)) : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr double kKi = 1024;
  static constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {
      {{"B", 1},
       {"kB", 1e3},
       {"MB", 1e6},
       {"GB", 1e9},
       {"TB", 1e12},
       {"KiB", kKi},
       {"MiB", kKi * kKi},
       {"GiB", kKi * kKi * kKi},
       {"TiB", kKi * kKi * kKi * kKi}}};
  const auto bytes = scaled(text, kUnits);
  return bytes ? std::optional(static_cast<std::uint64_t>(*bytes)) : std::nullopt;
}

}  // namespace genscope::serve
