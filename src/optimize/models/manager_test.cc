#include <genscope/optimize/models.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>
#include <latch>
#include <random>
#include <thread>

namespace genscope::optimize::models_manager_test {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

struct Toy {
  std::string name;
};

// Counts what is in memory, as a device would.
class Machine {
 public:
  explicit Machine(std::uint64_t bytes, BookOptions book = {}) {
    book.declared_margin = 1;
    book.backoff_ns = 3600 * kSecondNs;
    book.backoff_max_ns = 3600 * kSecondNs;
    ManagerOptions options;
    options.book = book;
    options.used_bytes = [this](std::string_view) -> std::optional<std::uint64_t> { return used; };
    manager.emplace(options);
    EXPECT_TRUE(manager->add_device({.name = "gpu", .bytes = bytes}));
  }
  ModelHooks hooks(const std::string& name, std::uint64_t bytes) {
    ModelHooks hooks;
    hooks.load = [this, name, bytes](const LoadCall& call) -> Result<ModelPointer> {
      if (on_load) {
        if (const Status status = on_load(call); !status) return status.error();
      }
      loads++;
      const std::uint64_t now = used += bytes;
      std::uint64_t seen = peak;
      while (seen < now && !peak.compare_exchange_weak(seen, now)) {
      }
      return ModelPointer(std::make_shared<Toy>(Toy{name}));
    };
    hooks.unload = [this, bytes](const ModelPointer& model, std::string_view) -> Status {
      EXPECT_NE(model, nullptr);
      used -= bytes - std::min(leak, bytes);
      unloads++;
      return Done{};
    };
    return hooks;
  }
  void add(const std::string& name, std::uint64_t bytes, ModelSpec spec = {}) {
    spec.name = name;
    spec.bytes = bytes;
    spec.load_ns = 1;
    ASSERT_TRUE(manager->add(spec, hooks(name, bytes)));
  }

  std::atomic<std::uint64_t> used = 0, peak = 0, loads = 0, unloads = 0;
  std::uint64_t leak = 0;
  std::function<Status(const LoadCall&)> on_load;
  std::optional<ModelManager> manager;
};

TEST(ModelManager, LendsAndEvicts) {
  Machine machine(10 * kGiB);
  machine.add("a", 6 * kGiB);
  machine.add("b", 6 * kGiB);
  {
    Result<ModelLease> lease = machine.manager->lease("a");
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->get<Toy>().name, "a");
    EXPECT_EQ(lease->device(), "gpu");
    EXPECT_EQ(machine.used, 6 * kGiB);
  }
  Result<ModelLease> lease = machine.manager->lease("b");
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->get<Toy>().name, "b");
  EXPECT_EQ(machine.peak, 6 * kGiB);
  EXPECT_EQ(machine.unloads, 1u);
  ASSERT_EQ(machine.manager->why().size(), 1u);
  EXPECT_EQ(machine.manager->why()[0].for_model, "b");
}

TEST(ModelManager, ManyWaitersOneLoad) {
  Machine machine(10 * kGiB);
  machine.add("a", 6 * kGiB);
  std::latch all_wait(1);
  machine.on_load = [&](const LoadCall&) -> Status {
    all_wait.wait();
    return Done{};
  };
  std::atomic<int> answers = 0;
  std::promise<void> last;
  for (int i = 0; i < 100; ++i) {
    machine.manager->lease("a", {}, [&](LeaseAnswer answer) {
      EXPECT_EQ(answer.refusal, LeaseRefusal::none);
      if (++answers == 100) last.set_value();
    });
  }
  EXPECT_EQ(answers, 0);
  all_wait.count_down();
  last.get_future().wait();
  EXPECT_EQ(machine.loads, 1u);
}

TEST(ModelManager, ATimeoutIsAnsweredWhileTheLoadGoesOn) {
  Machine machine(10 * kGiB);
  machine.add("a", 6 * kGiB);
  std::latch over(1);
  std::atomic<bool> called = false, asked_to_stop = false;
  machine.on_load = [&](const LoadCall& call) -> Status {
    called = true;
    over.wait();
    asked_to_stop = call.stop.stop_requested();
    return Error{ErrorCode::io, "given up"};
  };
  std::promise<LeaseRefusal> refusal;
  machine.manager->lease("a", {.timeout_ns = 1'000'000},
                         [&](LeaseAnswer answer) { refusal.set_value(answer.refusal); });
  EXPECT_EQ(refusal.get_future().get(), LeaseRefusal::deadline);
  over.count_down();
  machine.manager->settle();
  EXPECT_EQ(asked_to_stop, called);  // it is not even called if the deadline came first
  EXPECT_EQ(machine.manager->stats().load_failures, 0u);  // aborted is not broken
  EXPECT_EQ(machine.manager->ledger().devices[0].reserved_bytes, 0u);
}

TEST(ModelManager, AStopTokenCancels) {
  Machine machine(10 * kGiB);
  machine.add("a", 6 * kGiB);
  machine.add("b", 6 * kGiB);
  Result<ModelLease> held = machine.manager->lease("a");
  std::stop_source stop;
  std::promise<LeaseRefusal> refusal;
  machine.manager->lease("b", {.stop = stop.get_token()},
                         [&](LeaseAnswer answer) { refusal.set_value(answer.refusal); });
  stop.request_stop();
  EXPECT_EQ(refusal.get_future().get(), LeaseRefusal::cancelled);
  const Result<ModelLease> late = machine.manager->lease("b", {.stop = stop.get_token()});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, ::testing::HasSubstr("cancelled"));
}

TEST(ModelManager, AThrowingLoadIsRememberedAndOutOfMemoryIsTriedTwice) {
  Machine machine(10 * kGiB);
  machine.add("a", 1 * kGiB);
  machine.add("b", 1 * kGiB);
  machine.add("c", 1 * kGiB);
  (void)machine.manager->lease("a");
  std::atomic<int> tries = 0;
  machine.on_load = [&](const LoadCall& call) -> Status {
    tries++;
    if (call.model == "b") throw std::runtime_error("no such file");
    throw std::bad_alloc();
  };
  const Result<ModelLease> broken = machine.manager->lease("b");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, ::testing::HasSubstr("no such file"));
  ASSERT_FALSE(machine.manager->lease("b"));
  EXPECT_EQ(tries, 1);
  const Result<ModelLease> full = machine.manager->lease("c");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::no_space);
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(machine.used, 0u);  // a had to go
}

TEST(ModelManager, OutOfMemoryAtWorkFreesTheRest) {
  Machine machine(10 * kGiB);
  machine.add("a", 1 * kGiB);
  machine.add("b", 1 * kGiB);
  (void)machine.manager->lease("a");
  Result<ModelLease> lease = machine.manager->lease("b");
  ASSERT_TRUE(lease);
  EXPECT_TRUE(lease->out_of_memory());
  EXPECT_EQ(machine.used, 1 * kGiB);
  EXPECT_FALSE(lease->out_of_memory());
}

TEST(ModelManager, LearnsBytesAndReportsALeak) {
  Machine machine(10 * kGiB);
  ASSERT_TRUE(machine.manager->add({.name = "a"}, machine.hooks("a", 3 * kGiB)));  // undeclared
  machine.leak = kGiB;
  (void)machine.manager->lease("a");
  EXPECT_EQ(machine.manager->ledger().models.at(0).learned_bytes, 3 * kGiB);
  EXPECT_EQ(machine.manager->ledger().devices[0].reserved_bytes, 3 * kGiB);
  ASSERT_TRUE(machine.manager->unload("a"));
  machine.manager->settle();
  const std::vector<LeakRow> leaks = machine.manager->leaks();
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks[0].bytes, kGiB);
  const std::vector<TransferRow> rows = machine.manager->transfers();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].before_bytes, 3 * kGiB);
  EXPECT_EQ(rows[1].after_bytes, kGiB);
}

TEST(ModelManager, ReconcilesWithTheDevice) {
  Machine machine(10 * kGiB);
  machine.add("a", 4 * kGiB);
  machine.add("b", 4 * kGiB);
  (void)machine.manager->lease("a");
  (void)machine.manager->lease("b");
  Result<Reconciliation> report = machine.manager->reconcile("gpu", 1 * kGiB);
  ASSERT_TRUE(report && report->applied);
  EXPECT_EQ(report->foreign_after_bytes, 1 * kGiB);
  report = machine.manager->reconcile("gpu", 0);  // 8 GiB are ours, 2 belong to others
  EXPECT_EQ(report->budget_after_bytes, 8 * kGiB);
  EXPECT_EQ(machine.unloads, 0u);
  EXPECT_FALSE(machine.manager->reconcile("tpu", 0));
}

TEST(ModelManager, SleepsAndWakes) {
  Machine machine(10 * kGiB, [] {
    BookOptions options;
    options.host_bytes = 100 * kGiB;
    return options;
  }());
  std::atomic<int> slept = 0, woke = 0;
  for (const char* name : {"a", "b"}) {
    ModelHooks hooks = machine.hooks(name, 6 * kGiB);
    hooks.sleep = [&](const ModelPointer&, std::uint32_t level) -> Status {
      slept += static_cast<int>(level);
      return Done{};
    };
    hooks.wake = [&](const ModelPointer&, std::uint32_t) -> Status {
      woke++;
      return Done{};
    };
    ASSERT_TRUE(machine.manager->add(
        {.name = name, .bytes = 6 * kGiB, .load_ns = 1, .sleep = {{0, 6 * kGiB}}}, hooks));
  }
  (void)machine.manager->lease("a");
  (void)machine.manager->lease("b");
  Result<ModelLease> again = machine.manager->lease("a");
  ASSERT_TRUE(again);
  EXPECT_EQ(slept, 2);
  EXPECT_EQ(woke, 1);
  EXPECT_EQ(machine.loads, 2u);
}

TEST(ModelManager, AWarmUpThatFailsIsAFailedLoad) {
  Machine machine(10 * kGiB);
  ModelHooks hooks = machine.hooks("a", kGiB);
  hooks.warmup = [](const ModelPointer&) -> Status { return Error{ErrorCode::io, "NaN"}; };
  ASSERT_TRUE(machine.manager->add({.name = "a", .bytes = kGiB}, hooks));
  const Result<ModelLease> lease = machine.manager->lease("a");
  ASSERT_FALSE(lease);
  EXPECT_THAT(lease.error().message, ::testing::HasSubstr("its warm-up failed: NaN"));
  EXPECT_EQ(machine.used, 0u);
}

TEST(ModelManager, CloseRefusesWaitersAndALeaseOutlivesIt) {
  Machine machine(10 * kGiB);
  machine.add("a", 6 * kGiB);
  machine.add("b", 6 * kGiB);
  Result<ModelLease> lease = machine.manager->lease("a");
  std::promise<LeaseRefusal> refusal;
  machine.manager->lease("b", {}, [&](LeaseAnswer answer) { refusal.set_value(answer.refusal); });
  machine.manager.reset();
  EXPECT_EQ(refusal.get_future().get(), LeaseRefusal::closed);
  EXPECT_EQ(lease->get<Toy>().name, "a");
  EXPECT_EQ(machine.unloads, 0u);
  lease->release();
  EXPECT_EQ(machine.unloads, 1u);
  EXPECT_EQ(machine.used, 0u);
}

TEST(ModelManager, SaysWhatIsWrongWithARequest) {
  Machine machine(10 * kGiB);
  machine.add("a", 11 * kGiB);
  EXPECT_THAT(machine.manager->lease("aa").error().message,
              ::testing::HasSubstr("did you mean a?"));
  EXPECT_THAT(machine.manager->lease("a").error().message, ::testing::HasSubstr("does not fit"));
  EXPECT_FALSE(machine.manager->lease("a", {.device = "tpu"}));
  EXPECT_FALSE(machine.manager->add({.name = "x"}, {}));
  EXPECT_FALSE(ModelManager().lease("a"));
}

// Threads that lease, cancel, pin and prefetch at random, with loads that fail now and then.
TEST(ModelManager, HoldsUnderStress) {
  BookOptions options;
  options.backoff_ns = options.backoff_max_ns = 1;
  Machine machine(10 * kGiB, options);
  for (int m = 0; m < 6; ++m) {
    machine.add("m" + std::to_string(m), static_cast<std::uint64_t>(1 + m) * kGiB);
  }
  std::atomic<unsigned> count = 0;
  machine.on_load = [&](const LoadCall&) -> Status {
    const unsigned n = count++;
    if (n % 17 == 3) return Error{ErrorCode::io, "now and then"};
    if (n % 19 == 5) return Error{ErrorCode::no_space, "now and then"};
    return Done{};
  };
  std::atomic<int> open = 0, answered = 0;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 150; ++i) {
      const std::string name = "m" + std::to_string(random() % 6);
      switch (random() % 8) {
        case 0: {
          open++;
          const std::uint64_t id = machine.manager->lease(name, {.timeout_ns = kSecondNs * 100},
                                                          [&](LeaseAnswer) { answered++; });
          machine.manager->cancel(id);
          break;
        }
        case 1:
          (void)machine.manager->prefetch(name);
          break;
        case 2: {
          (void)machine.manager->unload(name);
          break;
        }
        case 3: {
          Result<ModelLease> lease = machine.manager->lease(name, {.timeout_ns = 200'000});
          EXPECT_EQ(lease ? lease->get<Toy>().name : name, name);
          break;
        }
        default: {
          Result<ModelLease> lease = machine.manager->lease(name);
          EXPECT_EQ(lease ? lease->get<Toy>().name : name, name);
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= 4; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  machine.manager->close();
  EXPECT_EQ(open, answered);
  EXPECT_LE(machine.peak, 10 * kGiB);
  EXPECT_EQ(machine.used, 0u);
  const BookStats stats = machine.manager->stats();
  EXPECT_EQ(stats.requests, stats.granted + stats.failed + stats.cancelled);
}

}  // namespace
}  // namespace genscope::optimize::models_manager_test
