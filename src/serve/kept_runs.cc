// A kept run is known by the names, sizes and times of change of the files in its directory. A run
// that is still recorded is never kept: its newest spans are in memory, not yet in a file.
#include "serve/kept_runs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <genscope/store.h>

namespace genscope::serve {
namespace {

namespace fs = std::filesystem;

// "": it cannot be told.
std::string stamp_of(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    struct stat about {};
    if (::stat(it->path().c_str(), &about) != 0) return "";
    files.push_back(fmt::format("{} {} {} {}.{:09}", it->path().filename().string(), about.st_ino,
                                about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec));
  }
  if (error) return "";
  std::sort(files.begin(), files.end());
  std::string stamp;
  for (const std::string& file : files) stamp += file + "\n";
  return stamp;
}

template <class... Columns>
std::uint64_t bytes_in(const Columns&... columns) {
  return (0 + ... + (columns.capacity() * sizeof(columns[0])));
}

// What its columns take, which is nearly all.
std::uint64_t bytes_of(const Run& run) {
  std::uint64_t bytes = 1u << 20;  // the analysis and the rest
  for (const Trace& t : run.traces) {
    const SpanColumns& s = t.spans;
    bytes += bytes_in(s.begin_ns, s.duration_ns, s.name, s.track, s.parent, s.flags);
    for (const ArgColumns* args : {&t.span_args, &t.event_args}) {
      bytes += bytes_in(args->owner, args->key, args->type, args->bits);
    }
    bytes += bytes_in(t.device.span, t.device.duration_ns, t.device.begin_ns);
    bytes += bytes_in(t.events.at_ns, t.events.name, t.events.track, t.events.span);
    bytes += bytes_in(t.counters.at_ns, t.counters.name, t.counters.track, t.counters.value);
    bytes += bytes_in(t.texts, t.names);
    for (const std::string& text : t.texts) bytes += text.size();
    for (const SampleSeries& series : t.samples.series) bytes += bytes_in(series.rows);
  }
  return bytes;
}

bool is_over(const Run& run) {
  return std::none_of(run.traces.begin(), run.traces.end(),
                      [](const Trace& trace) { return trace.integrity.in_progress; });
}

}  // namespace

Result<std::shared_ptr<const WholeRun>> KeptRuns::get(const RunEntry& run) {
  // Before the reading: what changes meanwhile makes another stamp.
  const std::string stamp = run.in_progress ? "" : stamp_of(run.path);
  std::unique_lock lock(mutex_);
  const auto known = [&] {
    return std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.path == run.path && kept.stamp == stamp;
    });
  };
  if (!stamp.empty()) {
    read_.wait(lock, [&] { return known() != kept_.end() || !reading_.contains(run.path); });
    if (const auto found = known(); found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return found->whole;
    }
    reading_.insert(run.path);
  }
  reads_++;
  lock.unlock();

  // Whatever happens, who waits must not wait for ever.
  struct Done {
    KeptRuns& runs;
    const std::string& path;
    Done(KeptRuns& r, const std::string& p) : runs(r), path(p) {}
    Done(const Done&) = delete;
    Done& operator=(const Done&) = delete;
    ~Done() {
      const std::lock_guard done(runs.mutex_);
      runs.reading_.erase(path);
      runs.read_.notify_all();
    }
  };
  std::optional<Done> done;
  if (!stamp.empty()) done.emplace(*this, run.path);
  Result<Run> read = read_run(run.path);
  if (!read) return read.error();
  const bool over = is_over(*read);
  auto whole = std::make_shared<const WholeRun>(whole_of(std::move(*read)));
  if (!stamp.empty() && over) keep({run.path, stamp, whole, bytes_of(whole->run)});
  return std::shared_ptr<const WholeRun>(std::move(whole));
}

void KeptRuns::keep(Kept kept) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Kept& old) {
    if (old.path != kept.path) return false;
    bytes_ -= old.bytes;
    return true;
  });
  if (kept.bytes > most_bytes_) return;
  bytes_ += kept.bytes;
  kept_.push_front(std::move(kept));
  while (bytes_ > most_bytes_) {
    bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
}

std::uint64_t KeptRuns::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

std::uint64_t KeptRuns::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace genscope::serve
