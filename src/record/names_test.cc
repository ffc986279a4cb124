#include "record/names.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "genscope/record.h"
#include "testing/sanitizer.h"

namespace genscope::record {
namespace {

// The table is the process's own: each test uses names that no other test uses.
const NameEntry* intern(SpanKind kind, std::string_view name) {
  return NameTable::instance().intern(kind, name, [](const NameEntry&) { return true; });
}

TEST(Names, SameTextAndKindGivesTheSameNumber) {
  const NameEntry* const a = intern(SpanKind::stage, "names-same");
  EXPECT_EQ(intern(SpanKind::stage, "names-same"), a);
  EXPECT_EQ(a->text, "names-same");
  EXPECT_EQ(a->kind(), SpanKind::stage);
}

TEST(Names, SameTextOfAnotherKindIsAnotherName) {
  const NameEntry* const stage = intern(SpanKind::stage, "names-kind");
  const NameEntry* const none = intern(SpanKind::none, "names-kind");
  EXPECT_NE(stage->id, none->id);
}

TEST(Names, WellKnownNamesKeepTheirNumbers) {
  EXPECT_EQ(intern(SpanKind::step, "step")->id, internal::kSiteStep);
  EXPECT_EQ(intern(SpanKind::block, "block")->id, internal::kSiteBlock);
  EXPECT_EQ(intern(SpanKind::none, "index")->id, internal::kKeyIndex);
}

TEST(Names, DefineIsCalledOnceAndMayRefuse) {
  NameTable& table = NameTable::instance();
  int calls = 0;
  EXPECT_EQ(table.intern(SpanKind::stage, "names-refused",
                         [&](const NameEntry&) {
                           calls++;
                           return false;
                         }),
            nullptr);
  const NameEntry* const made =
      table.intern(SpanKind::stage, "names-refused", [&](const NameEntry& e) {
        calls++;
        EXPECT_EQ(e.text, "names-refused");
        return true;
      });
  ASSERT_NE(made, nullptr);
  intern(SpanKind::stage, "names-refused");
  EXPECT_EQ(calls, 2);
}

TEST(Names, LongNamesAreCutAtACharacterAndStayOneName) {
  const std::string longer(300, 'n');
  const NameEntry* const a = intern(SpanKind::stage, longer);
  EXPECT_EQ(a->text, longer.substr(0, kMaxNameBytes));
  EXPECT_EQ(intern(SpanKind::stage, longer + "x"), a);
  const std::string utf8 = std::string(254, 'u') + "€";
  EXPECT_EQ(intern(SpanKind::stage, utf8)->text, std::string(254, 'u'));
}

TEST(Names, EmptyAndBinaryNamesAreNames) {
  const NameEntry* const empty = intern(SpanKind::task, "");
  ASSERT_NE(empty, nullptr);
  EXPECT_NE(empty->id, 0u);
  const std::string zero("a\0b", 3);
  EXPECT_EQ(intern(SpanKind::task, zero)->text, zero);
}

TEST(Names, ThreadsAgreeOnNumbers) {
  constexpr int kThreads = 4, kNames = 500;
  std::vector<std::vector<std::uint32_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ids, t] {
      for (int i = 0; i < kNames; ++i) {
        ids[static_cast<std::size_t>(t)].push_back(
            intern(SpanKind::stage, "names-threads-" + std::to_string(i))->id);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[static_cast<std::size_t>(t)], ids[0]);
  EXPECT_EQ(std::set(ids[0].begin(), ids[0].end()).size(), kNames);
}

TEST(NamesFind, GivesWhatWasInterned) {
  EXPECT_EQ(NameTable::find(SpanKind::stage, "names-find"), nullptr);
  const NameEntry* const entry = intern(SpanKind::stage, "names-find");
  EXPECT_EQ(NameTable::find(SpanKind::stage, "names-find"), entry);
  EXPECT_EQ(NameTable::find(SpanKind::step, "names-find"), nullptr) << "the kind counts";
  EXPECT_EQ(NameTable::find(SpanKind::stage, "names-finx"), nullptr);
  EXPECT_EQ(NameTable::find(SpanKind::stage, "names-fin"), nullptr);
}

TEST(NamesFind, TellsEveryLengthAndEveryCharacter) {
  std::vector<const NameEntry*> entries;
  for (std::size_t n = 0; n <= kMaxNameBytes; ++n) {
    entries.push_back(intern(SpanKind::batch, std::string(n, 'q')));
    for (std::size_t at = 0; at < n; at += 1 + n / 9) {
      std::string other(n, 'q');
      other[at] = 'r';
      EXPECT_EQ(NameTable::find(SpanKind::batch, other), nullptr) << n << ", " << at;
    }
  }
  for (std::size_t n = 0; n <= kMaxNameBytes; ++n) {
    EXPECT_EQ(NameTable::find(SpanKind::batch, std::string(n, 'q')), entries[n]);
  }
  EXPECT_EQ(NameTable::find(SpanKind::batch, std::string(kMaxNameBytes + 1, 'q')), nullptr);
}

// Readers without a lock, while the table grows several times.
TEST(NamesFind, WhatIsThereIsFoundWhileOthersAdd) {
  constexpr int kNames = 20'000;
  std::vector<std::atomic<const NameEntry*>> made(kNames);
  const auto name_of = [](int i) { return "names-grow-" + std::to_string(i); };
  std::thread writer([&] {
    for (int i = 0; i < kNames; ++i) {
      made[static_cast<std::size_t>(i)].store(intern(SpanKind::stage, name_of(i)));
    }
  });
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      for (int i = 0; i < kNames; ++i) {
        const NameEntry* const expected = made[static_cast<std::size_t>(i)].load();
        const NameEntry* const found = NameTable::find(SpanKind::stage, name_of(i));
        if (expected != nullptr && found != expected) wrong++;
        if (found != nullptr && found->text != name_of(i)) wrong++;
      }
    });
  }
  writer.join();
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(wrong.load(), 0);
  for (int i = 0; i < kNames; ++i) {
    EXPECT_EQ(NameTable::find(SpanKind::stage, name_of(i)),
              made[static_cast<std::size_t>(i)].load());
  }
}

// Last: it uses up the process's budget of names.
TEST(NamesLimit, BeyondTheBudgetEveryNewNameIsOther) {
  const std::string filler(240, 'f');
  const NameEntry* last = nullptr;
  for (std::size_t i = 0; i < NameTable::kMaxBytes / 240 + 100; ++i) {
    last = intern(SpanKind::task, filler + std::to_string(i));
    ASSERT_NE(last, nullptr);
    if (last->id == internal::kSiteOther) break;
  }
  EXPECT_EQ(last->id, internal::kSiteOther);
  EXPECT_EQ(intern(SpanKind::task, filler + "0")->text, filler + "0") << "old names stay";
}

}  // namespace
}  // namespace genscope::record
