// A cell dominates another if it is at least as large in every field that the suite names. Memory
// grows with each of them, so that what dominates an OOM would run out as well. The file has the
// form of a journal: a header that says for which command and machine, then the cells.
#include "bench/suite/dominance.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"
#include "bench/result/timestamp.h"
#include "bench/suite/journal.h"

namespace genscope::bench {
namespace {

// What is measured: another command may need less memory.
std::string runner_hash(const SuiteRunner& runner) {
  std::string all = runner.kind + '\n' + runner.command + '\n' + runner.url + '\n' + runner.body;
  for (const std::string& word : runner.argv) all += '\n' + word;
  for (const auto& [name, value] : runner.env) all += '\n' + name + '=' + value;
  return fmt::format("{:016x}", base::checksum(all.data(), all.size()));
}

}  // namespace

bool is_oom(const Cell& cell) noexcept {
  return cell.failure && (cell.failure->kind == FailureClass::oom_gpu ||
                          cell.failure->kind == FailureClass::oom_host);
}

OomMemory::OomMemory(const Suite& suite, std::string path, std::string environment)
    : suite_(suite),
      fields_(suite.matrix),
      path_(std::move(path)),
      environment_(std::move(environment)) {
  if (path_.empty()) return;
  const Result<std::string> text = base::read_file(path_);
  if (!text) return;  // nothing is remembered
  std::vector<Known> known;
  const auto take = [&](Cell&& cell) {
    const std::int64_t when = cell.units.empty() ? 0 : cell.units[0].started_unix_ns;
    known.push_back({cell.id, timestamp(when).substr(0, 10), size_of(cell.params)});
  };
  const Result<JournalRead> read = read_journal(*text, path_, {.unit = {}, .cell = take});
  if (read && read->header.environment == environment_ &&
      read->header.suite_hash == runner_hash(suite.runner)) {
    known_ = std::move(known);
    return;
  }
  std::error_code ignored;  // of another command or machine: begun anew with the next OOM
  std::filesystem::remove(path_, ignored);
}

std::vector<double> OomMemory::size_of(const Params& params) const {
  std::vector<double> size;
  for (const std::string& field : suite_.matrix.oom_dominance) {
    const std::optional<double> value = fields_.number(params, field);
    if (!value) return {};
    size.push_back(*value);
  }
  return size;
}

std::string OomMemory::dominated(const Params& params) const {
  const std::vector<double> size = size_of(params);
  if (size.empty()) return {};
  for (const Known& known : known_) {
    if (known.size.size() != size.size()) continue;
    bool as_large = true;
    for (std::size_t i = 0; i < size.size(); ++i) as_large = as_large && size[i] >= known.size[i];
    if (!as_large) continue;
    return fmt::format("at least as large as {}, which ran out of memory{}", known.id,
                       known.when.empty() ? "" : fmt::format(" on {}", known.when));
  }
  return {};
}

void OomMemory::note(const Cell& cell) {
  std::vector<double> size = size_of(cell.params);
  if (!size.empty()) known_.push_back({cell.id, "", std::move(size)});
}

Status OomMemory::remember(const Cell& cell) {
  if (path_.empty() || size_of(cell.params).empty()) return Done{};
  JournalHeader header;
  header.suite = suite_.name;
  header.suite_hash = runner_hash(suite_.runner);
  header.environment = environment_;
  Result<Journal> file =
      std::filesystem::exists(path_) ? Journal::reopen(path_) : Journal::create(path_, header);
  if (!file) return file.error();
  return file->cell(cell);
}

}  // namespace genscope::bench
