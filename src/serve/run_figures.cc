#include "serve/run_figures.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <string_view>

#include <genscope/advise.h>
#include <genscope/report.h>
#include <genscope/store.h>
#include <genscope/version.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "report/stage_shares.h"

namespace genscope::serve {
namespace {

constexpr std::size_t kMaxNotes = 64u << 20;
constexpr std::size_t kTopStages = 3;

// The same of a run that is what it was, read by the same genscope: its rules may have changed.
std::string mark_of(const RunEntry& run) {
  return fmt::format("{}-{}-{}-{}", GENSCOPE_VERSION_STRING, run.traces, run.bytes,
                     run.finished_unix_ns);
}

std::string note_of(const std::string& id, const std::string& mark, const RunFigures& figures) {
  std::string stages;
  for (const std::string& stage : figures.stages) {
    stages += (stages.empty() ? "" : ",") + base::json_quote(stage);
  }
  return fmt::format(
      R"({{"id":{},"mark":{},"wall_ns":{},"stages":[{}],"findings":{},"headline":{}}})"
      "\n",
      base::json_quote(id), base::json_quote(mark), figures.wall_ns, stages, figures.findings,
      base::json_quote(figures.headline));
}

struct Noted {
  std::string mark;
  RunFigures figures;
};

std::map<std::string, Noted> read_notes(const std::string& file) {
  std::map<std::string, Noted> notes;
  const Result<std::string> text = base::read_file(file, kMaxNotes);
  if (!text) return notes;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const base::JsonObject note(line);
    if (!note.valid()) continue;
    notes[note.text("id")] = {note.text("mark"),
                              {.wall_ns = note.integer("wall_ns"),
                               .stages = note.texts("stages"),
                               .findings = note.natural("findings"),
                               .headline = note.text("headline")}};
  }
  return notes;
}

std::optional<RunFigures> read_figures(const RunEntry& run) {
  Result<Run> read = read_run(run.path);
  if (!read) return std::nullopt;
  const WholeRun whole = whole_of(std::move(*read));
  RunFigures figures;
  figures.wall_ns = whole.analysis.wall_ns;
  figures.findings = whole.advice.findings.size();
  figures.headline = headline(whole.run, whole.analysis, whole.advice);
  const StageTree& tree = whole.analysis.stage_tree;
  for (const report::StageShare& row : report::stage_shares(tree).rows) {
    if (figures.stages.size() == kTopStages) break;
    figures.stages.push_back(fmt::format("{} {:.0f}%", tree.nodes[row.node].name, row.share * 100));
  }
  return figures;
}

}  // namespace

std::map<std::string, RunFigures> figures_of(const std::vector<RunEntry>& runs,
                                             const std::string& folder, bool all) {
  const std::string file = folder + "/.genscope-list";
  std::map<std::string, Noted> notes = read_notes(file);
  std::map<std::string, RunFigures> figures;
  std::string text;
  bool changed = false;
  for (const RunEntry& run : runs) {
    if (run.in_progress) continue;
    const auto noted = notes.find(run.id);
    std::optional<RunFigures> known;
    if (noted != notes.end() && noted->second.mark == mark_of(run)) {
      known = noted->second.figures;
    } else {
      known = read_figures(run);
      changed = true;
    }
    if (!known) continue;
    text += note_of(run.id, mark_of(run), *known);
    figures.emplace(run.id, std::move(*known));
    notes.erase(run.id);
  }
  changed |= all && !notes.empty();
  if (!all) {
    for (const auto& [id, note] : notes) text += note_of(id, note.mark, note.figures);
  }
  if (runs.size() == 1 && runs.front().path == folder) return figures;  // not into a run
  if (changed) {
    const Status ignored = base::write_file(file, text);  // it is quicker with it, no more
    static_cast<void>(ignored);
  }
  return figures;
}

ListFigures::~ListFigures() {
  stop();
  if (reader_.joinable()) reader_.join();
}

bool ListFigures::stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  return !reading_;
}

std::map<std::string, RunFigures> ListFigures::of(const std::vector<RunEntry>& runs) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(noted_, true)) {
    for (auto& [id, note] : read_notes(folder_ + "/.genscope-list")) {
      known_[id] = {note.mark, std::move(note.figures)};
    }
  }
  std::map<std::string, RunFigures> figures;
  std::vector<RunEntry> missing;
  for (const RunEntry& run : runs) {
    if (run.in_progress) continue;
    const auto known = known_.find(run.id);
    if (known == known_.end() || known->second.mark != mark_of(run)) {
      missing.push_back(run);
    } else if (known->second.figures) {
      figures.emplace(run.id, *known->second.figures);
    }
  }
  if (missing.empty() || reading_ || stop_) return figures;
  if (reader_.joinable()) reader_.join();
  try {
    reader_ = std::thread([this, runs = std::move(missing)] { read(runs); });
    reading_ = true;
  } catch (const std::exception&) {  // no thread to be had: the list is without these figures
  }
  return figures;
}

void ListFigures::read(const std::vector<RunEntry>& runs) {
  constexpr int kLowest = 19;  // programs that are being recorded come first
  setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kLowest);
  for (const RunEntry& run : runs) {
    std::optional<RunFigures> figures;
    try {
      figures = read_figures(run);
    } catch (const std::bad_alloc&) {  // as one that cannot be read
    }
    const std::lock_guard lock(mutex_);
    if (stop_) break;
    known_[run.id] = {mark_of(run), std::move(figures)};
  }
  const std::lock_guard lock(mutex_);
  reading_ = false;
}

}  // namespace genscope::serve
