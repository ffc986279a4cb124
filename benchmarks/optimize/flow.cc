// bench_optimize_flow: what admission, batches, retries and the batch search decide, in simulations
// with a virtual clock and fixed seeds (the figures are the same on every machine), and what a
// decision costs here. Method and figures: docs/optimize-flow.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include <genscope/optimize.h>

#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;
using namespace genscope::optimize;

constexpr std::int64_t kSecond = 1'000'000'000;

class Random {  // splitmix64
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  double exponential(double mean) { return -std::log(1 - uniform()) * mean; }

 private:
  std::uint64_t state_;
};

std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// --- a dependency that is down for 30 s

enum class Storm { once, fixed, jitter, budget, shared, breaker };

struct StormLoad {
  double attempts = 0, requests = 0, peak = 0;  // from the outage on, for 35 s
};

// Each client sends a request a second on average; an attempt takes a millisecond.
StormLoad storm(Storm kind, int clients) {
  const std::int64_t down = 30 * kSecond, up = 60 * kSecond, end = 90 * kSecond;
  struct Call {
    std::int64_t at;
    std::size_t client;
    std::shared_ptr<RetryRun> run;  // null: a new request
    bool operator<(const Call& other) const { return at > other.at; }
  };
  Random random(7);
  std::priority_queue<Call> calls;
  const std::size_t group = kind == Storm::budget ? 1 : 100;
  std::vector<std::unique_ptr<RetryBudget>> budgets;
  std::vector<std::unique_ptr<Breaker>> breakers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(clients); ++i) {
    calls.push({ns(random.exponential(1)), i, nullptr});
    if (i % group == 0) {
      budgets.push_back(std::make_unique<RetryBudget>());
      breakers.push_back(std::make_unique<Breaker>());
    }
  }
  StormLoad out;
  std::vector<double> by_second(91);
  while (!calls.empty()) {
    Call call = calls.top();
    calls.pop();
    if (call.at >= end) continue;
    const bool counted = call.at >= down && call.at < up + 5 * kSecond;
    if (call.run == nullptr) {
      calls.push({call.at + ns(random.exponential(1)), call.client, nullptr});
      RetryBudget* const budget =
          kind >= Storm::budget ? budgets[call.client / group].get() : nullptr;
      call.run = std::make_shared<RetryRun>(RetryPolicy{.attempts = kind == Storm::once ? 1 : 3},
                                            kNoDeadline, budget);
      if (counted) ++out.requests;
    }
    std::optional<Breaker::Pass> pass;
    if (kind == Storm::breaker) {
      pass = breakers[call.client / group]->ask(call.at);
      if (!pass) continue;
    }
    if (counted) ++out.attempts;
    ++by_second[static_cast<std::size_t>(call.at / kSecond)];
    const bool ok = call.at < down || call.at >= up;
    const std::int64_t done = call.at + kSecond / 1000;
    if (pass) breakers[call.client / group]->tell(*pass, ok, 0.001, done);
    if (ok) {
      call.run->succeeded();
      continue;
    }
    RetryNext next = call.run->failed({Failure::transient, "down", {}}, done, random.uniform());
    if (!next.again) continue;
    if (kind == Storm::fixed) next.wait_ns = kSecond / 10;
    calls.push({done + next.wait_ns, call.client, std::move(call.run)});
  }
  out.peak = *std::max_element(by_second.begin(), by_second.end());
  return out;
}

void storm_rows(const Options& options, Table& table) {
  const int clients = options.quick ? 1'000 : 10'000;
  const std::string who = std::to_string(clients) + " clients, down 30 s: ";
  const auto extra = [&](Storm kind) {
    const StormLoad load = storm(kind, clients);
    return 100 * (load.attempts / load.requests - 1);
  };
  const auto row = [&](const char* what, Storm kind, bool bar) {
    const double more = extra(kind);
    table.add(
        {who + what, more, "% extra load", "", 0, bar ? "<= 10 %" : "", !bar || more <= 10, ""});
  };
  row("3 attempts, fixed wait", Storm::fixed, false);
  row("3 attempts, full jitter", Storm::jitter, false);
  row("and a budget for each client", Storm::budget, true);
  row("and a budget for each 100 clients", Storm::shared, true);
  row("and a breaker for each 100 clients", Storm::breaker, true);
}

// --- a service at twice its capacity

struct Service {
  double goodput_ratio = 0;  // answers within the SLO, of what the device can do
  double p99 = 0;            // of the answers that were given
  double answered = 0, refused = 0;
};

// One device, 0.8 to 1.2 times `mean` a request; Poisson arrivals; SLO 5 s.
Service serve(bool with_admission, double times_capacity, bool slows, double seconds) {
  const double mean = 0.5, slo = 5;
  Random random(11);
  const auto mean_at = [&](std::int64_t at) {
    return slows && at > ns(seconds / 2) ? 2 * mean : mean;
  };
  AdmissionQueue admission({.classes = {{"all", 1000}}, .concurrency = 1});
  struct Request {
    std::int64_t arrived;
    std::uint64_t id;
  };
  std::deque<Request> plain;
  std::vector<std::pair<std::uint64_t, std::int64_t>> waiting;  // id, arrival: of ours
  std::optional<Request> running;
  std::int64_t now = 0, free_at = 0, next = 0;
  Service out;
  std::vector<double> latencies;
  double good = 0, possible = 0;
  const auto start = [&](Request request) {
    running = request;
    free_at = now + ns(mean_at(now) * random.between(0.8, 1.2));
  };
  const std::int64_t end = ns(seconds);
  while (now < end) {
    if (!running || next <= free_at) {
      now = next;
      next = now + ns(random.exponential(mean / times_capacity));
      if (!with_admission) {
        if (running)
          plain.push_back({now, 0});
        else
          start({now, 0});
        continue;
      }
      const auto entered = admission.enter({.deadline_ns = now + ns(slo)}, now);
      if (entered.state == AdmissionQueue::State::run)
        start({now, entered.id});
      else if (entered.state == AdmissionQueue::State::wait)
        waiting.push_back({entered.id, now});
      else
        ++out.refused;
      continue;
    }
    now = free_at;
    const double latency = static_cast<double>(now - running->arrived) * 1e-9;
    latencies.push_back(latency);
    good += latency <= slo ? 1 : 0;
    const Request done = *running;
    running.reset();
    if (!with_admission) {
      if (!plain.empty()) {
        const Request head = plain.front();
        plain.pop_front();
        start(head);
      }
      continue;
    }
    for (const auto& decided : admission.finished(done.id, true, now)) {
      const auto it = std::find_if(waiting.begin(), waiting.end(),
                                   [&](const auto& one) { return one.first == decided.id; });
      if (decided.run)
        start({it->second, decided.id});
      else
        ++out.refused;
      waiting.erase(it);
    }
  }
  possible = slows ? seconds / 2 / mean + seconds / 2 / (2 * mean) : seconds / mean;
  out.goodput_ratio = good / possible;
  out.answered = static_cast<double>(latencies.size());
  out.p99 = latencies.empty() ? 0 : percentile(latencies, 0.99);
  return out;
}

void overload_rows(const Options& options, Table& table) {
  const double seconds = options.quick ? 2'000 : 20'000;
  const auto rows = [&](const std::string& what, double load, bool slows, bool bar) {
    const Service plain = serve(false, load, slows, seconds);
    const Service ours = serve(true, load, slows, seconds);
    table.add({what + ", unbounded queue: goodput", 100 * plain.goodput_ratio, "% of capacity", "",
               0, "", true, ""});
    table.add({what + ", unbounded queue: p99", plain.p99, "s", "", 0, "", true, ""});
    table.add({what + ", admission: goodput", 100 * ours.goodput_ratio, "% of capacity", "", 0,
               bar ? ">= 90 %" : "", !bar || ours.goodput_ratio >= 0.9, ""});
    table.add({what + ", admission: p99", ours.p99, "s", "", 0, bar ? "<= 5 s" : "",
               !bar || ours.p99 <= 5, ""});
  };
  rows("twice the capacity", 2, false, true);
  rows("half of the capacity", 0.5, false, false);
  rows("twice the capacity, device slows by 2", 2, true, true);
}

// --- batches on a device of a + c * b

struct Batched {
  double per_second = 0, mean_size = 0, largest = 0;
};

Batched batches(double a, double c, std::size_t most, double load, double seconds) {
  BatchQueue queue({.most = most, .max_delay_seconds = 0.02});
  Random random(3);
  const double alone = a + c;
  std::int64_t now = 0, next = 0, free_at = 0;
  std::vector<std::uint64_t> running;
  std::int64_t began = 0;
  double done = 0, runs = 0;
  Batched out;
  const std::int64_t end = ns(seconds);
  while (now < end) {
    if (running.empty()) {
      BatchQueue::Take taken = queue.take(now);
      if (!taken.batch.empty()) {
        running = std::move(taken.batch);
        began = now;
        free_at =
            now + ns((a + c * static_cast<double>(running.size())) * random.between(0.97, 1.03));
        continue;
      }
      if (taken.wait_until_ns < next) {
        now = std::max(now + 1, taken.wait_until_ns);
        continue;
      }
    }
    if (running.empty() || next <= free_at) {
      now = std::max(now, next);
      queue.push("k", 1, kNoDeadline, now);
      next = now + ns(random.exponential(alone / load));
      continue;
    }
    now = free_at;
    queue.finish(running, nullptr, static_cast<double>(now - began) * 1e-9, now);
    done += static_cast<double>(running.size());
    out.largest = std::max(out.largest, static_cast<double>(running.size()));
    ++runs;
    running.clear();
  }
  out.per_second = done / seconds * alone;
  out.mean_size = done / std::max(1.0, runs);
  return out;
}

void batch_rows(const Options& options, Table& table) {
  const double seconds = options.quick ? 500 : 5'000;
  const Batched pays = batches(0.15, 0.02, 8, 3, seconds);
  table.add({"batches, 0.15 + 0.02 b s, 3 x the load of one at a time", pays.per_second,
             "x one at a time", "", 0, ">= 2.7", pays.per_second >= 2.7, ""});
  table.add({"mean batch there", pays.mean_size, "requests", "", 0, "", true, ""});
  const Batched not_paying = batches(0.01, 0.16, 8, 2, seconds);  // gain(2) = 1.03
  table.add({"mean batch, 0.01 + 0.16 b s (gain of two 1.03)", not_paying.mean_size, "requests", "",
             0, "<= 1.01", not_paying.mean_size <= 1.01, "one of two now and then, to look again"});
}

// --- the largest batch

struct Searches {
  double within_one = 0, most_probes = 0, most_out = 0, mean_probes = 0, mean_out = 0;
};

// 24 GB; weights 2 to 18 GB; a ceiling from 1 to `ceilings`; bytes are reported with noise.
Searches searches(int count, int ceilings, double noise) {
  Random random(5);
  Searches out;
  const double capacity = 24e9;
  for (int i = 0; i < count; ++i) {
    const double m0 = random.between(2e9, 18e9);
    const auto ceiling = static_cast<std::size_t>(random.between(1, ceilings + 1));
    const double m1 = (capacity - m0) / (static_cast<double>(ceiling) + random.between(0.05, 0.95));
    const auto probe = [&](std::size_t b) {
      const double bytes = m0 + m1 * static_cast<double>(b);
      BatchProbe seen;
      seen.fits = bytes <= capacity;
      if (seen.fits) seen.bytes = bytes * (1 + random.between(-noise, noise));
      return seen;
    };
    const BatchSearch found = optimal_batch(probe, capacity);
    const auto off =
        static_cast<std::ptrdiff_t>(found.batch) - static_cast<std::ptrdiff_t>(ceiling);
    out.within_one += std::abs(off) <= 1 ? 100.0 / count : 0;
    out.most_probes = std::max(out.most_probes, static_cast<double>(found.probes.size()));
    out.most_out = std::max(out.most_out, static_cast<double>(found.out_of_memory));
    out.mean_probes += static_cast<double>(found.probes.size()) / count;
    out.mean_out += static_cast<double>(found.out_of_memory) / count;
  }
  return out;
}

void search_rows(const Options& options, Table& table) {
  const int count = options.quick ? 500 : 10'000;
  for (const double noise : {0.0, 0.0025, 0.0075}) {
    const Searches found = searches(count, 64, noise);
    char what[64];
    std::snprintf(what, sizeof what, "batch search, bytes +-%.2f %%: ", 100 * noise);
    table.add({std::string(what) + "within one of the ceiling", found.within_one, "%", "", 0,
               "= 100 %", found.within_one > 99.999, ""});
    table.add({std::string(what) + "probes, most", found.most_probes, "", "", 0, "<= 8",
               found.most_probes <= 8, ""});
    table.add({std::string(what) + "probes, mean", found.mean_probes, "", "", 0, "", true, ""});
    table.add({std::string(what) + "out of memory, most", found.most_out, "", "", 0, "<= 2",
               found.most_out <= 2, ""});
    table.add({std::string(what) + "out of memory, mean", found.mean_out, "", "", 0, "", true, ""});
  }
}

// --- what a decision costs

std::unique_ptr<Breaker> g_breaker;
std::unique_ptr<AdmissionQueue> g_admission;
std::unique_ptr<BatchQueue> g_queue;
std::unique_ptr<RetryBudget> g_budget;

void cost_rows(const Options& options, Table& table) {
  Load load;
  load.count = options.quick ? 20'000 : 200'000;
  load.repetitions = options.quick ? 3 : 9;
  const auto row = [&](const char* name, Body body) {
    table.add({name, measure(load, body).thread_ns, "ns cpu", "", 0, "", true, ""});
  };
  g_breaker = std::make_unique<Breaker>();
  row("breaker: ask and tell", [](std::uint64_t n) {
    while (n-- > 0) g_breaker->tell(*g_breaker->ask(1), true, 0.001, 2);
  });
  g_budget = std::make_unique<RetryBudget>();
  row("retry: a call that succeeds", [](std::uint64_t n) {
    while (n-- > 0) {
      RetryRun run({}, kNoDeadline, g_budget.get());
      run.succeeded();
    }
  });
  g_admission = std::make_unique<AdmissionQueue>();
  row("admission: enter and finish", [](std::uint64_t n) {
    static std::int64_t now = 0;
    while (n-- > 0) {
      const auto entered = g_admission->enter({.deadline_ns = now + kSecond}, now);
      g_admission->finished(entered.id, true, now += 1000);
    }
  });
  g_queue = std::make_unique<BatchQueue>();
  row("batch queue: push, take and finish", [](std::uint64_t n) {
    static std::int64_t now = 0;
    while (n-- > 0) {
      g_queue->push("k", 1, kNoDeadline, now);
      const auto taken = g_queue->take(now += 20'000'000);
      g_queue->finish(taken.batch, nullptr, 0.001, now);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  const auto wanted = [&](const char* part) {
    return options.only.empty() || std::string(part).find(options.only) != std::string::npos;
  };
  if (wanted("retry")) storm_rows(options, table);
  if (wanted("overload")) overload_rows(options, table);
  if (wanted("batches")) batch_rows(options, table);
  if (wanted("search")) search_rows(options, table);
  if (wanted("cost")) cost_rows(options, table);
  table.finish(options.json);
  return 0;
}
