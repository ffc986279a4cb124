// One thread follows all runs. A run is followed from the moment in which somebody watches or
// scrapes it, and let go when nobody has for a while: a minute for readers of the page, ten for
// scrapers, which come seldom.
//
// The lock is held for the table only. A follower reads without it, and what it said last is kept
// by a shared pointer, so whoever asks while it reads gets that, whole. A run that is new to a
// scrape is polled at once, and the scrape waits a fifth of a second for it.
//
// A run has ended when its manifest says so, or when three polls in a row saw no living process.
#include "serve/live.h"

#include <fmt/format.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "analyze/statistics/prediction.h"
#include "base/text.h"
#include "serve/alerts.h"

namespace genscope::serve {
namespace {

constexpr int kQuietPolls = 3;        // until a run without a living process counts as ended
constexpr int kUnreadPolls = 60;      // until a run that nobody looks at is let go
constexpr int kUnscrapedPolls = 600;  // the same where somebody has scraped
constexpr std::chrono::milliseconds kFirstLook{200};

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

// When the stage ends, nine times in ten: as if its steps went on as those that finished last. The
// first of a stage warms up and is left out.
std::optional<stats::SumInterval> eta_of(const Progress::Process& p) {
  constexpr double kConfidence = 0.9;
  if (!p.eta_seconds || !(*p.eta_seconds >= 0)) return std::nullopt;
  if (!p.steps_total || *p.steps_total < p.steps_done) return std::nullopt;
  std::span<const double> steps = p.last_steps;
  if (p.steps_done <= steps.size()) {
    steps = steps.last(static_cast<std::size_t>(p.steps_done));
    if (!steps.empty()) steps = steps.subspan(1);
  }
  auto range = stats::interval_of_sum(steps, *p.steps_total - p.steps_done, kConfidence);
  if (!range) return std::nullopt;
  // The estimate is of medians, the interval of means: it holds both.
  return stats::SumInterval{std::clamp(range->low, 0.0, *p.eta_seconds),
                            std::max(range->high, *p.eta_seconds)};
}

std::string process_json(const Progress::Process& p, std::int64_t now_monotonic_ns) {
  const bool open = !p.stage.empty();
  const std::optional<stats::SumInterval> eta = eta_of(p);
  const double stage_seconds = static_cast<double>(now_monotonic_ns - p.stage_begin_ns) / 1e9;
  return fmt::format(R"({{"pid":{},"rank":{},"alive":{},"stage":{},"stage_kind":{},)", p.pid,
                     or_null(p.rank), p.alive, open ? base::json_quote(p.stage) : "null",
                     open ? fmt::format("\"{}\"", name(p.stage_kind)) : "null") +
         fmt::format(
             R"("stage_seconds":{},"steps_done":{},"steps_total":{},"step_seconds":{},"eta_seconds":{},)",
             open ? number(std::max(stage_seconds, 0.0)) : "null", p.steps_done,
             or_null(p.steps_total), or_null(p.step_seconds), or_null(p.eta_seconds)) +
         fmt::format(R"("eta_low_seconds":{},"eta_high_seconds":{},)",
                     eta ? number(eta->low) : "null", eta ? number(eta->high) : "null") +
         fmt::format(R"("last_stage":{},"last_stage_seconds":{},"dropped_spans":{}}})",
                     p.last_stage.empty() ? "null" : base::json_quote(p.last_stage),
                     p.last_stage.empty() ? "null" : number(p.last_stage_seconds), p.dropped_spans);
}

// The process of `genscope run` itself: it has readings of probes and does nothing else.
bool only_samples(const Progress::Process& p) {
  return p.stage.empty() && p.last_stage.empty() && p.steps_done == 0 && !p.rank &&
         !p.values.empty();
}

std::string value_json(std::uint32_t pid, const Progress::Value& value) {
  const bool sample = value.metric != nullptr;
  return fmt::format(R"({{"pid":{},"name":{},"entity":{},"metric":{},"unit":{},"value":{}}})", pid,
                     base::json_quote(value.counter),
                     sample ? base::json_quote(value.entity) : "null",
                     sample ? base::json_quote(value.metric->id) : "null",
                     sample ? base::json_quote(value.metric->unit) : "null", number(value.value));
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
    for (const Progress::Value& value : p.values) {
      values += (values.empty() ? "" : ",") + value_json(p.pid, value);
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
    alerts +=
        fmt::format(R"({}{{"severity":"{}","rule":"{}","text":{}}})", alerts.empty() ? "" : ",",
                    alert.severity, alert.rule, base::json_quote(alert.text));
  }
  return fmt::format(
      R"({{"at_ns":{},"in_progress":{},"processes":[{}],"values":[{}],"steps":[{}],)"
      R"("steps_pid":{},"steps_ended":{},"alerts":[{}]}})",
      run.started_unix_ns != 0 ? now_unix_ns - run.started_unix_ns : 0, alive, processes, values,
      steps, most_steps != nullptr ? fmt::format("{}", most_steps->pid) : "null",
      most_steps != nullptr ? fmt::format("{}", most_steps->steps_ended) : "null", alerts);
}

LiveRuns::LiveRuns(std::string folder, std::chrono::milliseconds interval)
    : folder_(std::move(folder)), interval_(interval) {}

void LiveRuns::join() {
  stop(std::chrono::milliseconds(0));
  if (thread_.joinable()) thread_.join();
}

void LiveRuns::start(HttpServer& server) {
  ended_ = false;
  thread_ = std::thread([this, &server] {
    pthread_setname_np(pthread_self(), "genscope-live");
    loop(server);
    const std::lock_guard lock(mutex_);
    ended_ = true;
    polled_.notify_all();
  });
}

bool LiveRuns::stop(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  polled_.notify_all();
  return polled_.wait_for(lock, grace, [this] { return ended_; });
}

std::shared_ptr<LiveRuns::Watched> LiveRuns::follow_locked(const RunEntry& run) {
  std::shared_ptr<Watched>& watched = watched_[run.id];
  if (watched == nullptr) {
    watched = std::make_shared<Watched>(run);
    wake_.notify_all();
  }
  watched->unread_polls = 0;
  return watched;
}

void LiveRuns::watch(const RunEntry& run) {
  const std::lock_guard lock(mutex_);
  follow_locked(run)->shown = true;
}

std::vector<std::shared_ptr<const Progress>> LiveRuns::scrape(const std::vector<RunEntry>& runs) {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Watched>> fresh, all;
  for (const RunEntry& run : runs) {
    all.push_back(follow_locked(run));
    if (!std::exchange(all.back()->scraped, true)) fresh.push_back(all.back());
  }
  // The first look at a short run is there in a moment; a long one is caught up with meanwhile.
  polled_.wait_for(lock, fresh.empty() ? std::chrono::milliseconds(0) : kFirstLook, [&] {
    return stopping_ || std::all_of(fresh.begin(), fresh.end(),
                                    [](const auto& watched) { return watched->tried; });
  });
  std::vector<std::shared_ptr<const Progress>> out;
  for (const auto& watched : all) out.push_back(watched->progress);
  return out;
}

// The followers work without the lock: whoever asks meanwhile gets what was known before.
void LiveRuns::loop(HttpServer& server) {
  std::unique_lock lock(mutex_);
  Clock::time_point next = Clock::now();
  const auto unpolled = [](const auto& item) { return !item.second->tried; };
  const auto news = [&] { return std::any_of(watched_.begin(), watched_.end(), unpolled); };
  while (!stopping_) {
    const bool due = Clock::now() >= next;
    if (due) next = Clock::now() + interval_;
    std::vector<std::shared_ptr<Watched>> now;
    for (const auto& item : watched_) {
      if (due || unpolled(item)) now.push_back(item.second);
    }
    for (const auto& watched : now) {
      if (stopping_) return;
      lock.unlock();
      bool goes_on = true;
      try {
        goes_on = tick(server, *watched);
      } catch (const std::exception&) {  // no memory now: the next look may have some
      }
      lock.lock();
      watched->tried = true;
      if (!goes_on) watched_.erase(watched->run.id);
      polled_.notify_all();
    }
    now.clear();
    if (watched_.empty()) {
      wake_.wait(lock, [this] { return stopping_ || !watched_.empty(); });
    } else {
      wake_.wait_until(lock, next, [&] { return stopping_ || news(); });
    }
  }
}

bool LiveRuns::tick(HttpServer& server, Watched& watched) {
  const std::string channel = channel_of(watched.run.id);
  const bool read = server.readers(channel) > 0;
  auto now = std::make_shared<const Progress>(watched.follower.poll());
  bool alive = false, shown = false, unread = false;
  for (const Progress::Process& p : now->processes) alive |= p.alive;
  {
    const std::lock_guard lock(mutex_);
    watched.unread_polls = read ? 0 : watched.unread_polls + 1;
    unread = watched.unread_polls > (watched.scraped ? kUnscrapedPolls : kUnreadPolls);
    watched.progress = now;
    shown = watched.shown;
  }
  if (unread) {
    server.close_channel(channel);
    return false;
  }
  const auto say = [&](const char* name, std::string data) {
    if (shown) server.publish(channel, name, std::move(data));
  };
  if (shown) {
    say("tick", tick_json(watched.run, *now, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC)));
  }
  watched.quiet_polls = alive ? 0 : watched.quiet_polls + 1;
  const Result<std::optional<RunEntry>> ended = find_run(folder_, watched.run.id);
  const bool known = ended && *ended && (*ended)->exit_code;  // then nothing more is to come
  if (!known && watched.quiet_polls < kQuietPolls) return true;
  say("end", fmt::format(R"({{"exit_code":{}}})",
                         known ? fmt::format("{}", *(*ended)->exit_code) : "null"));
  server.close_channel(channel);
  return false;
}

}  // namespace genscope::serve
