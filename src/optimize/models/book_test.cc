#include <genscope/optimize/model_book.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace genscope::optimize::models_book_test {
namespace {

using Kind = ModelAction::Kind;
constexpr std::int64_t kSecond = 1'000'000'000;

// A device of 10 GiB (unless told otherwise) whose transfers end when the test says so.
class BookTest : public ::testing::Test {
 protected:
  void open(BookOptions options = {}, DeviceSpec device = {.name = "gpu", .bytes = 10 * kGiB}) {
    options.declared_margin = 1;
    book = ModelBook(options);
    ASSERT_TRUE(book.add_device(device));
  }
  std::uint32_t model(ModelSpec spec) {
    if (spec.load_ns == 0) spec.load_ns = kSecond;
    return *book.add_model(spec);
  }
  // Takes the actions; ends those transfers at once that are wanted so.
  void run(bool end_transfers = true) {
    for (bool more = true; more;) {
      more = false;
      for (const ModelAction& action : book.take_actions()) {
        log.push_back(std::string(name(action.kind)) + " " + book.model_name(action.model));
        if (action.kind == Kind::grant) granted.push_back(action.request);
        if (action.kind == Kind::fail) failed[action.request] = action.error.message;
        const bool transfer =
            action.kind != Kind::grant && action.kind != Kind::fail && action.kind != Kind::abort;
        if (!transfer) continue;
        if (!end_transfers) {
          open_transfers.push_back(action);
          continue;
        }
        if (action.kind == Kind::load) now += kSecond;
        book.finished(now, action, {});
        more = true;
      }
    }
  }
  void end(std::size_t at, const ActionOutcome& outcome = {}) {
    const ModelAction action = open_transfers.at(at);
    open_transfers.erase(open_transfers.begin() + static_cast<std::ptrdiff_t>(at));
    book.finished(now, action, outcome);
    run(false);
  }
  std::uint64_t ask(std::uint32_t model, int priority = 0, std::int64_t deadline = kNever,
                    bool end_transfers = true) {
    const std::uint64_t id =
        book.request(now, {.model = model, .priority = priority, .deadline_ns = deadline});
    run(end_transfers);
    return id;
  }
  void give_back(std::uint64_t lease) {
    book.release(now, lease);
    run();
  }
  void later(double seconds) {
    now += static_cast<std::int64_t>(seconds * 1e9);
    book.tick(now);
    run();
  }
  bool has(std::uint64_t id) {
    return std::find(granted.begin(), granted.end(), id) != granted.end();
  }
  std::uint64_t reserved() { return book.ledger().devices[0].reserved_bytes; }

  ModelBook book;
  std::int64_t now = 100 * kSecond;
  std::vector<std::string> log;
  std::vector<std::uint64_t> granted;
  std::map<std::uint64_t, std::string> failed;
  std::vector<ModelAction> open_transfers;
};

TEST_F(BookTest, LoadsOnceForManyAndGrantsEach) {
  open();
  const auto a = model({.name = "a", .bytes = 4 * kGiB});
  ask(a, 0, kNever, false);
  ask(a, 0, kNever, false);
  EXPECT_EQ(log, std::vector<std::string>{"load a"});
  now += kSecond;
  end(0);
  EXPECT_EQ(granted.size(), 2u);
  EXPECT_EQ(book.stats().loads, 1u);
  EXPECT_EQ(reserved(), 4 * kGiB);
}

TEST_F(BookTest, ReservesBeforeTheLoadAndLearnsFromIt) {
  open();
  const auto a = model({.name = "a", .bytes = 4 * kGiB});
  ask(a, 0, kNever, false);
  EXPECT_EQ(reserved(), 4 * kGiB);
  end(0, {.bytes = 3 * kGiB});
  EXPECT_EQ(reserved(), 3 * kGiB);
  EXPECT_EQ(book.ledger().models[0].learned_bytes, 3 * kGiB);
}

TEST_F(BookTest, AnUnknownModelHasTheFreeMemoryToItself) {
  open();
  const auto a = model({.name = "a"}), b = model({.name = "b", .bytes = 2 * kGiB});
  ask(a, 0, kNever, false);
  ask(b, 0, kNever, false);
  EXPECT_EQ(reserved(), 10 * kGiB);
  EXPECT_THAT(log, ::testing::ElementsAre("load a"));
  end(0, {.bytes = 5 * kGiB});
  EXPECT_THAT(log, ::testing::UnorderedElementsAre("load a", "grant a", "load b"));
  EXPECT_EQ(reserved(), 7 * kGiB);
}

TEST_F(BookTest, EvictsTheLeastWorthAndSaysWhy) {
  open();
  const auto a = model({.name = "a", .bytes = 4 * kGiB});
  const auto b = model({.name = "b", .bytes = 4 * kGiB});
  const auto c = model({.name = "c", .bytes = 4 * kGiB});
  give_back(ask(a));
  give_back(ask(a));
  give_back(ask(b));
  later(60);
  give_back(ask(c));
  EXPECT_THAT(log, ::testing::Contains("unload b"));
  EXPECT_THAT(log, ::testing::Not(::testing::Contains("unload a")));
  const std::vector<WhyEntry> why = book.why();
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].model, "b");
  EXPECT_EQ(why[0].for_model, "c");
  EXPECT_EQ(why[0].what, "evicted");
  EXPECT_THAT(why[0].text, ::testing::HasSubstr("for c: not used for 60.0 s"));
}

TEST_F(BookTest, AModelThatIsSlowToLoadIsKeptForAnEquallyUsedOne) {
  open();
  const auto slow = model({.name = "slow", .bytes = 4 * kGiB, .load_ns = 50 * kSecond});
  const auto fast = model({.name = "fast", .bytes = 4 * kGiB});
  const auto c = model({.name = "c", .bytes = 4 * kGiB});
  ask(slow, 0, kNever, false);
  now += 50 * kSecond;
  end(0);
  give_back(granted.back());
  give_back(ask(fast));
  later(1000);
  ask(c);
  EXPECT_THAT(log, ::testing::Contains("unload fast"));
}

TEST_F(BookTest, NeitherLeasedNorPinnedModelsGo) {
  open();
  const auto a = model({.name = "a", .bytes = 6 * kGiB});
  const auto b = model({.name = "b", .bytes = 6 * kGiB});
  const std::uint64_t lease = ask(a);
  const std::uint64_t second = ask(b);
  later(10'000);
  EXPECT_FALSE(has(second));
  give_back(lease);
  EXPECT_TRUE(has(second));
  book.pin(now, b, true);
  give_back(second);
  const std::uint64_t third = ask(a);
  EXPECT_THAT(failed[third], ::testing::HasSubstr("does not fit"));
  EXPECT_THAT(failed[third], ::testing::HasSubstr("b: ready, 6.00 GiB, pinned"));
}

TEST_F(BookTest, AnOverdueRequestStopsNewLeasesOnWhatStandsInItsWay) {
  open();
  const auto a = model({.name = "a", .bytes = 6 * kGiB});
  const auto b = model({.name = "b", .bytes = 6 * kGiB});
  std::uint64_t lease = ask(a);
  const std::uint64_t want = ask(b);
  const std::uint64_t second = ask(a);  // overlapping leases on a, without end
  EXPECT_TRUE(has(second));
  later(5);
  const std::uint64_t third = ask(a);
  EXPECT_FALSE(has(third));
  give_back(lease);
  EXPECT_FALSE(has(want));
  give_back(second);
  EXPECT_TRUE(has(want));
  give_back(want);
  later(5);
  EXPECT_TRUE(has(third));
}

TEST_F(BookTest, AModelInDemandStaysForItsResidency) {
  open({}, {.name = "gpu", .bytes = 10 * kGiB, .slots = 1});
  const auto a = model({.name = "a", .bytes = 6 * kGiB, .load_ns = 10 * kSecond});
  const auto b = model({.name = "b", .bytes = 6 * kGiB, .load_ns = 10 * kSecond});
  ask(a, 0, kNever, false);
  now += 10 * kSecond;
  end(0);
  std::uint64_t lease = granted.back();
  const std::uint64_t want = ask(b, 0, kNever, false);
  for (int i = 0; i < 9; ++i) {  // 36 s: a is asked for all the time
    const std::uint64_t next = ask(a, 0, kNever, false);
    now += 4 * kSecond;
    book.release(now, lease);
    run(false);
    EXPECT_TRUE(has(next)) << i;
    lease = next;
  }
  const std::uint64_t last = ask(a, 0, kNever, false);
  now += 4 * kSecond;
  book.release(now, lease);
  run(false);
  EXPECT_FALSE(has(last));  // 40 s: b's turn
  EXPECT_EQ(log.back(), "unload a");
  end(0);
  now += 10 * kSecond;
  end(0);
  EXPECT_TRUE(has(want));
}

TEST_F(BookTest, HigherPriorityIsServedFirst) {
  open({}, {.name = "gpu", .bytes = 10 * kGiB, .slots = 1});
  const auto a = model({.name = "a", .bytes = 1 * kGiB});
  const std::uint64_t first = ask(a), low = ask(a, 0), high = ask(a, 5);
  give_back(first);
  EXPECT_TRUE(has(high));
  EXPECT_FALSE(has(low));
}

TEST_F(BookTest, ADeadlineIsAnswered) {
  open();
  const auto a = model({.name = "a", .bytes = 6 * kGiB});
  const auto b = model({.name = "b", .bytes = 6 * kGiB});
  ask(a);
  const std::uint64_t want = ask(b, 0, now + kSecond);
  EXPECT_EQ(book.next_time(), now + kSecond);
  later(1);
  EXPECT_THAT(failed[want], ::testing::HasSubstr("deadline"));
  EXPECT_EQ(book.stats().expired, 1u);
}

TEST_F(BookTest, ALoadThatNobodyWaitsForIsAborted) {
  open();
  const auto a = model({.name = "a", .bytes = 6 * kGiB});
  const std::uint64_t id = ask(a, 0, kNever, false);
  EXPECT_TRUE(book.cancel(now, id));
  run(false);
  EXPECT_THAT(log, ::testing::ElementsAre("load a", "abort a"));
  end(0, {.kind = ActionOutcome::Kind::aborted});
  EXPECT_EQ(reserved(), 0u);
  EXPECT_FALSE(book.cancel(now, id));
}

TEST_F(BookTest, ABrokenModelFailsAtOnceUntilItsBackoffEnds) {
  open();
  const auto a = model({.name = "a", .bytes = 6 * kGiB});
  const std::uint64_t first = ask(a, 0, kNever, false);
  end(0, {.kind = ActionOutcome::Kind::failed, .message = "bad magic"});
  EXPECT_THAT(failed[first], ::testing::HasSubstr("could not be loaded: bad magic"));
  const std::uint64_t second = ask(a, 0, kNever, false);
  EXPECT_THAT(failed[second], ::testing::HasSubstr("The next try is in 1.0 s"));
  now += kSecond;
  ask(a, 0, kNever, false);
  ASSERT_EQ(open_transfers.size(), 1u);
  end(0, {.kind = ActionOutcome::Kind::failed, .message = "bad magic"});
  now += kSecond;
  ask(a, 0, kNever, false);
  EXPECT_TRUE(open_transfers.empty());  // two seconds now
}

TEST_F(BookTest, OutOfMemoryEvictsAndTriesOnceMore) {
  open();
  const auto a = model({.name = "a", .bytes = 2 * kGiB});
  const auto b = model({.name = "b", .bytes = 2 * kGiB});
  give_back(ask(a));
  const std::uint64_t want = ask(b, 0, kNever, false);
  end(0, {.kind = ActionOutcome::Kind::out_of_memory, .message = "CUDA"});
  EXPECT_EQ(log.back(), "unload a");
  end(0);
  EXPECT_EQ(log.back(), "load b");
  end(0, {.kind = ActionOutcome::Kind::out_of_memory, .message = "CUDA"});
  EXPECT_THAT(failed[want], ::testing::HasSubstr("In memory now:\ngpu: 0 B reserved of 10.0 GiB"));
  EXPECT_EQ(book.stats().ooms, 2u);
  EXPECT_EQ(book.stats().oom_retries, 1u);
}

TEST_F(BookTest, OutOfMemoryAtWorkEvictsWhatIsNotInUse) {
  open();
  const auto a = model({.name = "a", .bytes = 2 * kGiB});
  const auto b = model({.name = "b", .bytes = 2 * kGiB});
  give_back(ask(a));
  const std::uint64_t lease = ask(b);
  EXPECT_TRUE(book.out_of_memory(now, lease));
  run();
  EXPECT_EQ(log.back(), "unload a");
  EXPECT_FALSE(book.out_of_memory(now, lease));
}

TEST_F(BookTest, SleepKeepsWhatTheHostHasRoomFor) {
  BookOptions options;
  options.host_bytes = 6 * kGiB;
  open(options);
  const SleepLevel level{.device_bytes = kGiB, .host_bytes = 5 * kGiB};
  const auto a = model({.name = "a", .bytes = 6 * kGiB, .sleep = {level}});
  const auto b = model({.name = "b", .bytes = 6 * kGiB, .sleep = {level}});
  give_back(ask(a));
  later(60);
  give_back(ask(b));
  EXPECT_THAT(log, ::testing::Contains("sleep a"));
  EXPECT_EQ(book.ledger().host_reserved_bytes, 5 * kGiB);
  EXPECT_EQ(reserved(), 7 * kGiB);
  later(60);
  give_back(ask(a));
  EXPECT_EQ(log.back(), "grant a");
  EXPECT_THAT(log, ::testing::Contains("wake a"));
  EXPECT_THAT(log, ::testing::Contains("unload b"));  // the host had no room for both
}

TEST_F(BookTest, AGroupHasItsLimit) {
  open();
  const auto a = model({.name = "a", .bytes = kGiB, .group = "sd"});
  const auto b = model({.name = "b", .bytes = kGiB, .group = "sd"});
  const auto c = model({.name = "c", .bytes = kGiB});
  give_back(ask(c));
  give_back(ask(a));
  later(60);
  give_back(ask(b));
  EXPECT_THAT(log, ::testing::Contains("unload a"));
  EXPECT_THAT(log, ::testing::Not(::testing::Contains("unload c")));
}

TEST_F(BookTest, KeepAliveUnloadsWhatIsIdle) {
  open();
  const auto a = model({.name = "a", .bytes = kGiB, .keep_alive_ns = 30 * kSecond});
  const std::uint64_t lease = ask(a);
  later(100);
  EXPECT_EQ(log.back(), "grant a");
  give_back(lease);
  EXPECT_EQ(book.next_time(), now + 30 * kSecond);
  later(30);
  EXPECT_EQ(log.back(), "unload a");
  EXPECT_EQ(book.why().back().what, "idle");
}

TEST_F(BookTest, PrefetchLoadsWhatIsNextButEvictsNothingInDemand) {
  open();
  const auto text = model({.name = "text", .bytes = 3 * kGiB, .then = "dit"});
  model({.name = "dit", .bytes = 5 * kGiB});
  const auto other = model({.name = "other", .bytes = 8 * kGiB});
  const std::uint64_t lease = ask(text);
  EXPECT_THAT(log, ::testing::ElementsAre("load text", "grant text", "load dit"));
  book.prefetch(now, other);
  run();
  EXPECT_THAT(log, ::testing::Not(::testing::Contains("load other")));  // text is leased
  give_back(lease);
  EXPECT_THAT(log, ::testing::Contains("load other"));
}

TEST_F(BookTest, ForeignUseLowersTheBudgetAndEvicts) {
  open();
  const auto a = model({.name = "a", .bytes = 4 * kGiB});
  const auto b = model({.name = "b", .bytes = 4 * kGiB});
  const std::uint64_t lease = ask(a);
  give_back(ask(b));
  book.set_foreign(now, 0, 5 * kGiB);
  run();
  EXPECT_EQ(log.back(), "unload b");
  EXPECT_EQ(reserved(), 4 * kGiB);
  const std::uint64_t want = ask(b);
  EXPECT_FALSE(has(want));
  give_back(lease);
  EXPECT_TRUE(has(want));
}

TEST_F(BookTest, TransfersAndReadersAreLimited) {
  open();
  ASSERT_TRUE(book.add_device({.name = "gpu1", .bytes = 10 * kGiB}));
  ASSERT_TRUE(book.add_device({.name = "gpu2", .bytes = 10 * kGiB}));
  for (const char* name : {"a", "b", "c", "d"}) {
    ask(model({.name = name, .bytes = 2 * kGiB}), 0, kNever, false);
  }
  ASSERT_EQ(open_transfers.size(), 2u);  // disk readers
  EXPECT_NE(open_transfers[0].device, open_transfers[1].device);
}

TEST_F(BookTest, AHotModelComesToASecondDevice) {
  open({}, {.name = "gpu0", .bytes = 10 * kGiB, .slots = 1});
  ASSERT_TRUE(book.add_device({.name = "gpu1", .bytes = 10 * kGiB, .slots = 1}));
  const auto a = model({.name = "a", .bytes = 2 * kGiB});
  std::uint64_t lease = ask(a);
  now += 10 * kSecond;
  give_back(lease);  // a request takes ten seconds, a load one
  for (int i = 0; i < 6; ++i) ask(a);
  EXPECT_EQ(std::count(log.begin(), log.end(), "load a"), 2);
  EXPECT_EQ(book.ledger().devices[1].leases, 1u);
}

TEST_F(BookTest, NamesTheNearestModel) {
  open();
  model({.name = "sdxl"});
  const auto wrong = book.find_model("sdlx");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, ::testing::HasSubstr("did you mean sdxl?"));
  EXPECT_FALSE(book.add_model({.name = "sdxl"}));
  EXPECT_FALSE(book.add_model({.name = ""}));
}

TEST_F(BookTest, TheLogIsBounded) {
  BookOptions options;
  options.why_entries = 3;
  open(options);
  const auto a = model({.name = "a", .bytes = 6 * kGiB});
  const auto b = model({.name = "b", .bytes = 6 * kGiB});
  for (int i = 0; i < 8; ++i) {
    give_back(ask(i % 2 == 0 ? a : b));
    later(100);
  }
  EXPECT_EQ(book.why().size(), 3u);
}

}  // namespace
}  // namespace genscope::optimize::models_book_test
