// A cell may have been tried several times, on machines that died or in tasks that were requeued.
// Of its attempts the first that measured something counts, by when it ended: the choice depends on
// no clock of ours, and gathering again gives the same. Results of another suite, or of an earlier
// state of it, are left out with a note.
#include "bench/machines/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

namespace genscope::bench {
namespace {

namespace fs = std::filesystem;

struct Attempt {
  std::string name;
  BenchResult result;
  bool measured = false;
};

bool measured(const BenchResult& result) {
  return std::any_of(result.cells.begin(), result.cells.end(),
                     [](const Cell& cell) { return cell.status == "ok"; });
}

// In the order of their names. `notes` gets what could not be read.
std::vector<Attempt> attempts_at(const Plan& plan, const PlanCell& cell, const std::string& folder,
                                 std::vector<std::string>* notes) {
  std::vector<Attempt> found;
  std::error_code failed;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(folder) / cell_folder(cell.id), failed)) {
    const std::string path = (entry.path() / "result.json").string();
    std::error_code absent;
    if (!fs::exists(path, absent)) continue;  // it never ended
    Result<BenchResult> result = read_result(path);
    std::string why;
    if (!result) {
      why = result.error().message;
    } else if (result->suite_hash != plan.suite_hash) {
      why = path + ": of another suite, or of an earlier state of it";
    }
    if (why.empty()) {
      const bool good = measured(*result);
      found.push_back({entry.path().filename().string(), std::move(*result), good});
    } else if (notes != nullptr) {
      notes->push_back(why + "; left out");
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Attempt& a, const Attempt& b) { return a.name < b.name; });
  return found;
}

// The first that measured something, by when it ended; else the last that ended.
std::optional<BenchResult> chosen(std::vector<Attempt> attempts) {
  if (attempts.empty()) return std::nullopt;
  const auto by_end = [](const Attempt& a, const Attempt& b) {
    return a.result.ended < b.result.ended;
  };
  std::stable_sort(attempts.begin(), attempts.end(), by_end);
  for (Attempt& attempt : attempts) {
    if (attempt.measured) return std::move(attempt.result);
  }
  return std::move(attempts.back().result);
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void fold(BenchResult& into, BenchResult& one) {
  append(into.cells, one.cells);
  append(into.load, one.load);
  if (one.quality) {
    if (!into.quality) {
      into.quality = std::move(one.quality);
    } else {
      append(into.quality->pairs, one.quality->pairs);
      if (one.quality->verdict == "lower_quality") {
        into.quality->verdict = one.quality->verdict;
        into.quality->reason = one.quality->reason;
      }
    }
  }
  into.started = std::min(into.started, one.started);
  into.ended = std::max(into.ended, one.ended);
}

Cell skipped_cell(const PlannedCell& planned) {
  Cell cell;
  cell.id = planned.id;
  cell.params = planned.params;
  cell.status = "skipped";
  cell.failure = Failure{FailureClass::skipped, planned.skipped};
  return cell;
}

void add_exit(Exit& to, const Exit& one, const std::string& where) {
  to.code = worse_exit(to.code, one.code);
  for (const std::string& reason : one.reasons) to.reasons.push_back(where + reason);
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

}  // namespace

bool cell_is_done(const Plan& plan, const PlanCell& cell, const std::string& folder) {
  const std::vector<Attempt> attempts = attempts_at(plan, cell, folder, nullptr);
  return std::any_of(attempts.begin(), attempts.end(),
                     [](const Attempt& attempt) { return attempt.measured; });
}

Result<Gathered> gather(const Plan& plan, const std::string& folder, bool strict) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    return Error{ErrorCode::not_found, folder +
                                           ": there is no such folder; give the one in which "
                                           "`genscope bench cell` left its results"};
  }
  const Result<Suite> suite = suite_of(plan);
  if (!suite) return suite.error();
  Gathered all;
  std::map<std::string, BenchResult> by_class;
  for (const PlanCell& cell : plan.cells) {
    std::vector<Attempt> attempts = attempts_at(plan, cell, folder, &all.notes);
    const auto good = std::count_if(attempts.begin(), attempts.end(),
                                    [](const Attempt& attempt) { return attempt.measured; });
    if (good > 1) {
      all.notes.push_back(fmt::format("{}: measured {} times; the first is taken", cell.id, good));
    }
    std::optional<BenchResult> one = chosen(std::move(attempts));
    if (!one) {
      all.missing.push_back(cell.id);
      continue;
    }
    const auto place = by_class.find(one->environment.klass);
    if (place == by_class.end()) {
      by_class.emplace(one->environment.klass, std::move(*one));
    } else {
      fold(place->second, *one);
    }
  }
  for (auto& [klass, result] : by_class) {
    for (const PlannedCell& cell : plan.skipped) result.cells.push_back(skipped_cell(cell));
    // Anew: a cell alone was one gate among few, together they are many.
    SuiteOptions options;
    options.strict = strict;
    judge_suite(*suite, options, result);
    add_exit(all.exit, result.exit, by_class.size() > 1 ? klass + ": " : "");
    all.results.push_back(std::move(result));
  }
  if (!all.missing.empty()) {
    add_exit(all.exit,
             {all.results.empty() ? kNothingMeasured : kProductFailed,
              {fmt::format("{} of {} cells have no result: {}", all.missing.size(),
                           plan.cells.size(), some_of(all.missing))}},
             "");
  }
  return all;
}

}  // namespace genscope::bench
