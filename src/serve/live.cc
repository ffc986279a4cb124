#include "serve/live.h"

#include <fmt/format.h>
#include <pthread.h>
#include <time.h>

#include <cmath>

#include <genscope/sample.h>

#include "base/text.h"
#include "serve/alerts.h"

namespace genscope::serve {
namespace {

constexpr int kQuietPolls = 3;    // until a run without a living process counts as ended
constexpr int kLonelyPolls = 60;  // until a run that nobody looks at is let go

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

template <class T>
std::string or_null(const std::optional<T>& value) {
  return value ? number(static_cast<double>(*value)) : "null";
}

std::string process_json(const Progress::Process& p, std::int64_t now_monotonic_ns) {
  const bool open = !p.stage.empty();
  const double stage_seconds = static_cast<double>(now_monotonic_ns - p.stage_begin_ns) / 1e9;
  return fmt::format(R"({{"pid":{},"rank":{},"alive":{},"stage":{},"stage_kind":{},)", p.pid,
                     or_null(p.rank), p.alive, open ? base::json_quote(p.stage) : "null",
                     open ? fmt::format("\"{}\"", name(p.stage_kind)) : "null") +
         fmt::format(
             R"("stage_seconds":{},"steps_done":{},"steps_total":{},"step_seconds":{},"eta_seconds":{},)",
             open ? number(std::max(stage_seconds, 0.0)) : "null", p.steps_done,
             or_null(p.steps_total), or_null(p.step_seconds), or_null(p.eta_seconds)) +
         fmt::format(R"("last_stage":{},"last_stage_seconds":{},"lost_spans":{}}})",
                     p.last_stage.empty() ? "null" : base::json_quote(p.last_stage),
                     p.last_stage.empty() ? "null" : number(p.last_stage_seconds), p.lost_spans);
}

// The process of `genscope run` itself: it has readings of probes and does nothing else.
bool only_samples(const Progress::Process& p) {
  return p.stage.empty() && p.last_stage.empty() && p.steps_done == 0 && !p.rank &&
         !p.values.empty();
}

std::string value_json(std::uint32_t pid, const std::string& counter, double value) {
  const std::size_t slash = counter.rfind('/');
  const Metric* const metric = slash != std::string::npos
                                   ? find_metric(std::string_view(counter).substr(slash + 1))
                                   : nullptr;
  return fmt::format(R"({{"pid":{},"name":{},"entity":{},"metric":{},"unit":{},"value":{}}})", pid,
                     base::json_quote(counter),
                     metric != nullptr ? base::json_quote(counter.substr(0, slash)) : "null",
                     metric != nullptr ? base::json_quote(metric->id) : "null",
                     metric != nullptr ? base::json_quote(metric->unit) : "null", number(value));
}

}  // namespace

std::string tick_json(const RunEntry& run, const Progress& progress, std::int64_t now_unix_ns,
                      std::int64_t now_monotonic_ns) {
  std::string processes, values, steps, alerts;
  bool alive = false;
  const Progress::Process* most_steps = nullptr;
  for (const Progress::Process& p : progress.processes) {
    alive |= p.alive;
    if (!only_samples(p)) {
      processes += (processes.empty() ? "" : ",") + process_json(p, now_monotonic_ns);
    }
    for (const auto& [counter, value] : p.values) {
      values += (values.empty() ? "" : ",") + value_json(p.pid, counter, value);
    }
    if (most_steps == nullptr || p.last_steps.size() > most_steps->last_steps.size()) {
      most_steps = &p;
    }
  }
  if (most_steps != nullptr) {
    for (const double seconds : most_steps->last_steps) {
      steps += (steps.empty() ? "" : ",") + number(seconds);
    }
  }
  for (const Alert& alert : alerts_of(progress)) {
    alerts += fmt::format(R"({}{{"severity":"{}","text":{}}})", alerts.empty() ? "" : ",",
                          alert.severity, base::json_quote(alert.text));
  }
  return fmt::format(
      R"({{"at_ns":{},"in_progress":{},"processes":[{}],"values":[{}],"steps":[{}],"alerts":[{}]}})",
      run.started_unix_ns != 0 ? now_unix_ns - run.started_unix_ns : 0, alive, processes, values,
      steps, alerts);
}

LiveRuns::LiveRuns(std::string folder, std::chrono::milliseconds interval)
    : folder_(std::move(folder)), interval_(interval) {}

void LiveRuns::start(HttpServer& server) {
  thread_ = std::thread([this, &server] {
    pthread_setname_np(pthread_self(), "genscope-live");
    loop(server);
  });
}

void LiveRuns::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LiveRuns::watch(const RunEntry& run) {
  const std::lock_guard lock(mutex_);
  const auto [it, added] = watched_.try_emplace(run.id, Watched{run, RunFollower(run.path)});
  it->second.lonely_polls = 0;
  if (added) wake_.notify_all();
}

Progress LiveRuns::progress(const RunEntry& run) {
  const std::lock_guard lock(mutex_);
  const auto it = watched_.find(run.id);
  return it != watched_.end() ? it->second.follower.poll() : RunFollower(run.path).poll();
}

void LiveRuns::loop(HttpServer& server) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    for (auto it = watched_.begin(); it != watched_.end();) {
      it = tick(server, it->second) ? std::next(it) : watched_.erase(it);
    }
    if (watched_.empty()) {
      wake_.wait(lock, [this] { return stopping_ || !watched_.empty(); });
    } else {
      wake_.wait_for(lock, interval_, [this] { return stopping_; });
    }
  }
}

bool LiveRuns::tick(HttpServer& server, Watched& watched) {
  const std::string channel = channel_of(watched.run.id);
  watched.lonely_polls = server.readers(channel) == 0 ? watched.lonely_polls + 1 : 0;
  if (watched.lonely_polls > kLonelyPolls) {
    server.close_channel(channel);
    return false;
  }
  const Progress now = watched.follower.poll();
  server.publish(channel, "tick",
                 tick_json(watched.run, now, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC)));
  bool alive = false;
  for (const Progress::Process& p : now.processes) alive |= p.alive;
  watched.quiet_polls = alive ? 0 : watched.quiet_polls + 1;
  const std::optional<RunEntry> ended = find_run(folder_, watched.run.id);
  const bool known = ended && ended->exit_code;  // then nothing more is to come
  if (!known && watched.quiet_polls < kQuietPolls) return true;
  server.publish(
      channel, "end",
      fmt::format(R"({{"exit_code":{}}})", known ? fmt::format("{}", *ended->exit_code) : "null"));
  server.close_channel(channel);
  return false;
}

}  // namespace genscope::serve
