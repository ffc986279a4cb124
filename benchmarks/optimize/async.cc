// bench_optimize_async: what the async core costs per operation, beside Boost.Asio, std::async and
// Python's asyncio in the same run.
//
// Wall time of one busy thread per operation, best of seven repetitions: others run on this
// machine, and what they take is not ours. The promises are upper bounds on that best.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <numeric>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <genscope/optimize/async.h>

#include "harness/measure.h"
#include "harness/table.h"

namespace {

namespace asio = boost::asio;
namespace go = genscope::optimize;
using namespace std::chrono_literals;

int g_repetitions = 7;

// Nanoseconds per operation, the best.
double best_ns(std::size_t count, const std::function<void(std::size_t)>& body) {
  double best = 1e300;
  body(count / 10 + 1);
  for (int i = 0; i < g_repetitions; ++i) {
    const std::uint64_t start = bench::clock_ns(CLOCK_MONOTONIC);
    body(count);
    const auto took = static_cast<double>(bench::clock_ns(CLOCK_MONOTONIC) - start);
    best = std::min(best, took / static_cast<double>(count));
  }
  return best;
}

// Ours.
go::Task<int> give(int n) { co_return n; }
go::Task<long> await_children(std::size_t count) {
  long sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += co_await give(1);
  co_return sum;
}
go::Task<void> hop(go::Pool* pool, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_await pool->schedule();
}
go::Task<void> nothing() { co_return; }
go::Task<void> spawn_many(go::Pool* pool, std::size_t count) {
  co_await pool->schedule();
  go::Scope scope(*pool, co_await go::current_context());
  for (std::size_t i = 0; i < count; ++i) scope.spawn(nothing());
  co_await scope.join();
}
go::Task<long> time_many(std::size_t count) {
  long sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += co_await go::with_timeout(1s, give(1));
  co_return sum;
}
go::Task<void> send_many(go::Channel<int>* channel, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_await channel->send(1);
  channel->close();
}
go::Task<long> receive_all(go::Pool* pool, std::size_t count) {
  co_await pool->schedule();
  go::Channel<int> channel(64);
  go::Scope scope(*pool, co_await go::current_context());
  scope.spawn(send_many(&channel, count));
  long sum = 0;
  while (true) {
    const std::optional<int> got = co_await channel.receive();
    if (!got) break;
    sum += *got;
  }
  co_await scope.join();
  co_return sum;
}
go::Task<void> take_permits(go::Limiter* limiter, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const go::Permit permit = co_await limiter->acquire();
  }
}
go::Task<void> use_lane(go::Lane* lane, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_await lane->run([] {});
}

// Asio's.
asio::awaitable<int> asio_give(int n) { co_return n; }
asio::awaitable<void> asio_await(std::size_t count, long* sum) {
  for (std::size_t i = 0; i < count; ++i) *sum += co_await asio_give(1);
}
asio::awaitable<void> asio_hop(std::size_t count) {
  const auto executor = co_await asio::this_coro::executor;
  for (std::size_t i = 0; i < count; ++i) co_await asio::post(executor, asio::use_awaitable);
}
asio::awaitable<void> asio_count(std::atomic<std::size_t>* ended) {
  ended->fetch_add(1, std::memory_order_relaxed);
  co_return;
}
asio::awaitable<void> asio_time(std::size_t count) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (std::size_t i = 0; i < count; ++i) {
    timer.expires_after(1s);
    co_await (asio_give(1) || timer.async_wait(asio::use_awaitable));
  }
}

template <class F>
void run_io(F&& coroutine) {
  asio::io_context io(1);
  asio::co_spawn(io, coroutine(), asio::detached);
  io.run();
}

class Report {
 public:
  explicit Report(const bench::Options& options) : only_(options.only) {}
  double row(const std::string& name, double promise, std::size_t count,
             const std::function<void(std::size_t)>& body, const std::string& beside = {},
             double beside_ns = 0) {
    if (!only_.empty() && name.find(only_) == std::string::npos) return 0;
    const double ns = best_ns(count, body);
    bench::Row row;
    row.name = name;
    row.value = ns;
    row.unit = "ns";
    row.ratio_to = beside;
    row.ratio = beside_ns > 0 ? ns / beside_ns : 0;
    if (promise > 0) {
      row.bar = "at most " + std::to_string(static_cast<int>(promise)) + " ns";
      row.kept = ns <= promise;
    }
    table.add(row);
    return ns;
  }
  bench::Table table;

 private:
  std::string only_;
};

// asyncio's figures, from the interpreter in the path; nothing where there is none.
void asyncio_rows(bench::Table& table, const std::string& only) {
  if (!only.empty() && std::string("asyncio").find(only) == std::string::npos) return;
  const char* const program =
      "import asyncio,time\n"
      "async def give(n): return n\n"
      "async def main():\n"
      "  N=20000\n"
      "  async def timed(body):\n"
      "    best=1e9\n"
      "    for _ in range(3):\n"
      "      t=time.perf_counter(); await body(); best=min(best,time.perf_counter()-t)\n"
      "    return best/N*1e9\n"
      "  async def child():\n"
      "    for _ in range(N): await give(1)\n"
      "  async def timeout():\n"
      "    for _ in range(N): await asyncio.wait_for(give(1),1)\n"
      "  async def spawn():\n"
      "    await asyncio.gather(*[asyncio.create_task(give(1)) for _ in range(N)])\n"
      "  async def limited():\n"
      "    s=asyncio.Semaphore(4)\n"
      "    async def one(i):\n"
      "      async with s: return await give(i)\n"
      "    await asyncio.gather(*[one(i) for i in range(N)])\n"
      "  print(await timed(child),await timed(timeout),await timed(spawn),await timed(limited))\n"
      "asyncio.run(main())\n";
  const std::string command = std::string("python3 -c '") + program + "' 2>/dev/null";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  double child = 0, timeout = 0, spawn = 0, limited = 0;
  const bool got = pipe != nullptr &&
                   std::fscanf(pipe, "%lf %lf %lf %lf", &child, &timeout, &spawn, &limited) == 4;
  if (pipe != nullptr) ::pclose(pipe);
  if (!got) {
    std::fprintf(stderr, "no python3: asyncio is not in the table\n");
    return;
  }
  table.add({"asyncio: await a child", child, "ns", "", 0, "", true, ""});
  table.add({"asyncio: spawn", spawn, "ns", "", 0, "", true, "create_task, gather"});
  table.add({"asyncio: timeout that does not fire", timeout, "ns", "", 0, "", true, "wait_for"});
  table.add(
      {"asyncio: map, limit 4, an item", limited, "ns", "", 0, "", true, "Semaphore, gather"});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv);
  const std::size_t scale = options.quick ? 100 : 1;
  if (options.quick) g_repetitions = 2;
  Report report(options);
  go::Pool one(1), two(2);

  const double asio_child =
      report.row("asio: await a child", 0, 1'000'000 / scale, [](std::size_t n) {
        long sum = 0;
        run_io([&] { return asio_await(n, &sum); });
      });
  report.row(
      "await a child", 30, 1'000'000 / scale,
      [](std::size_t n) { go::sync_wait(await_children(n)); }, "asio", asio_child);

  const double asio_hops = report.row("asio: hop", 0, 300'000 / scale, [](std::size_t n) {
    asio::thread_pool pool(1);
    asio::co_spawn(pool, asio_hop(n), asio::detached);
    pool.join();
  });
  report.row(
      "hop to a worker", 80, 500'000 / scale, [&](std::size_t n) { go::sync_wait(hop(&one, n)); },
      "asio", asio_hops);
  report.row("hop, two workers", 0, 500'000 / scale,
             [&](std::size_t n) { go::sync_wait(hop(&two, n)); });

  const double asio_spawn = report.row("asio: spawn", 0, 100'000 / scale, [](std::size_t n) {
    asio::thread_pool pool(1);
    std::atomic<std::size_t> ended{0};
    asio::post(pool, [&] {
      for (std::size_t i = 0; i < n; ++i) asio::co_spawn(pool, asio_count(&ended), asio::detached);
    });
    pool.join();
  });
  report.row("std::async: spawn", 0, 5'000 / scale + 1, [](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) std::async(std::launch::async, [] {}).get();
  });
  report.row(
      "spawn", 200, 200'000 / scale, [&](std::size_t n) { go::sync_wait(spawn_many(&one, n)); },
      "asio", asio_spawn);
  report.row("spawn, two workers", 0, 200'000 / scale,
             [&](std::size_t n) { go::sync_wait(spawn_many(&two, n)); });

  const double asio_timeout =
      report.row("asio: timeout that does not fire", 0, 50'000 / scale,
                 [](std::size_t n) { run_io([n] { return asio_time(n); }); });
  report.row(
      "timeout that does not fire", 150, 500'000 / scale,
      [](std::size_t n) { go::sync_wait(time_many(n)); }, "asio", asio_timeout);

  const auto map_over = [](go::Pool& pool) {
    return [&pool](std::size_t n) {
      std::vector<int> items(n);
      go::sync_wait(
          go::parallel_map(pool, std::move(items), [](int i) { return give(i); }, {.limit = 4}));
    };
  };
  report.row("parallel_map, limit 4, an item", 400, 300'000 / scale, map_over(one));
  report.row("parallel_map, limit 4, two workers", 0, 300'000 / scale, map_over(two));

  report.row("channel: send and receive", 250, 300'000 / scale,
             [&](std::size_t n) { go::sync_wait(receive_all(&one, n)); });
  report.row("channel, two workers", 0, 300'000 / scale,
             [&](std::size_t n) { go::sync_wait(receive_all(&two, n)); });
  report.row("limiter: take and give back", 0, 500'000 / scale, [](std::size_t n) {
    go::Limiter limiter(4);
    go::sync_wait(take_permits(&limiter, n));
  });
  report.row("lane: run an empty function", 0, 20'000 / scale, [](std::size_t n) {
    go::Lane lane("bench");
    go::sync_wait(use_lane(&lane, n));
  });
  asyncio_rows(report.table, options.only);
  return report.table.finish(options.json) == 0 ? 0 : 1;
}
