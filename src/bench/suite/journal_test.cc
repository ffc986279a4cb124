#include "bench/suite/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/result/cell_json.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

using ::testing::HasSubstr;

Cell journal_cell(const std::string& id, std::uint32_t process, double latency) {
  Cell cell;
  cell.id = id;
  cell.params = {{"steps", "10"}};
  Unit unit;
  unit.process = process;
  Sample sample;
  sample.metrics["latency_s"] = latency;
  unit.samples.push_back(sample);
  cell.units.push_back(unit);
  return cell;
}

std::string written_journal(const std::string& path, std::size_t units) {
  JournalHeader header;
  header.suite = "s\"uite";
  header.suite_hash = "0123";
  header.seed = 7;
  Result<Journal> journal = Journal::create(path, header);
  EXPECT_TRUE(journal.ok()) << journal.error().message;
  for (std::size_t i = 0; i < units; ++i) {
    EXPECT_TRUE(journal->unit(journal_cell("a", static_cast<std::uint32_t>(i), 1.5)).ok());
  }
  return *base::read_file(path);
}

struct Counted {
  std::size_t units = 0;
  Result<JournalRead> read;
};
Counted count_units(const std::string& text) {
  std::size_t units = 0;
  Result<JournalRead> read =
      read_journal(text, "j", {.unit = [&](JournalUnit&&) { ++units; }, .cell = {}});
  return {units, std::move(read)};
}

TEST(Journal, ReadsBackWhatWasWritten) {
  const genscope::testing::TempDir folder;
  const std::string text = written_journal(folder / "j", 3);
  std::vector<Cell> cells;
  std::vector<UnitHead> heads;
  const auto take = [&](JournalUnit&& unit) {
    heads.push_back(unit.head);
    cells.push_back(*cell_from_json(unit.cell, "j"));
  };
  const Result<JournalRead> read = read_journal(text, "j", {.unit = take, .cell = {}});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->header.suite, "s\"uite");
  EXPECT_EQ(read->header.seed, 7u);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[2].id, "a");
  EXPECT_EQ(cells[2].params[0].second, "10");
  EXPECT_EQ(cells[2].units[0].process, 2u);
  EXPECT_EQ(cells[2].units[0].samples[0].metrics.at("latency_s"), 1.5);
  EXPECT_EQ(heads[2].cell, "a");
  EXPECT_TRUE(heads[2].good);
  EXPECT_EQ(heads[2].seconds, 1.5);
  EXPECT_EQ(heads[2].latency_s, 1.5);
}

TEST(Journal, HeadsTellWhatItTakesToGoOn) {
  Cell cell = journal_cell("},\"cell\":{", 0, 2);
  Unit& unit = cell.units[0];
  unit.order_index = 9;
  unit.warmup_s = {0.25, 0.5};
  unit.samples.push_back(unit.samples[0]);
  unit.samples[1].metrics["latency_s"] = 4;
  EXPECT_EQ(head_of(cell).seconds, 6.75);
  EXPECT_EQ(head_of(cell).latency_s, 3);
  unit.samples[0].failure = Failure{FailureClass::timeout, ""};
  EXPECT_TRUE(head_of(cell).good);
  EXPECT_EQ(head_of(cell).latency_s, 4);
  unit.samples[1].failure = unit.samples[0].failure;
  EXPECT_FALSE(head_of(cell).good);
  EXPECT_FALSE(head_of(cell).latency_s);

  const genscope::testing::TempDir folder;
  Result<Journal> journal = Journal::create(folder / "j", {});
  ASSERT_TRUE(journal->unit(cell).ok());
  std::vector<JournalUnit> units;
  const auto take = [&](JournalUnit&& one) { units.push_back(std::move(one)); };
  ASSERT_TRUE(read_journal_file(folder / "j", {.unit = take}).ok());
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].head.cell, cell.id);
  EXPECT_EQ(units[0].head.order_index, 9u);
  EXPECT_FALSE(units[0].head.good);
  EXPECT_EQ(cell_from_json(units[0].cell, "j")->units[0].warmup_s, unit.warmup_s);
}

TEST(Journal, ATornLastLineCostsItselfAlone) {
  const genscope::testing::TempDir folder;
  const std::string path = folder / "j";
  const std::string text = written_journal(path, 3);
  const std::size_t header = text.find('\n') + 1;
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t end = header; end <= text.size(); ++end) {
    const Counted counted = count_units(text.substr(0, end));
    ASSERT_TRUE(counted.read.ok());
    // A line whose newline alone is missing is whole.
    EXPECT_EQ(counted.units, end >= text.size() - 1 ? 3u : end >= last - 1 ? 2u : counted.units);
  }
  // What is appended behind a torn line is read.
  ASSERT_TRUE(base::write_file(path, text.substr(0, text.size() - 9)).ok());
  Result<Journal> again = Journal::reopen(path);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->unit(journal_cell("b", 0, 2)).ok());
  const Counted counted = count_units(*base::read_file(path));
  EXPECT_EQ(counted.units, 3u);
  EXPECT_EQ(counted.read->damaged, 1u);
}

TEST(Journal, AnyChangedByteIsSeen) {
  const genscope::testing::TempDir folder;
  const std::string text = written_journal(folder / "j", 1);
  for (std::size_t i = text.find('\n') + 1; i + 1 < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    const Counted counted = count_units(changed);
    EXPECT_EQ(counted.units, 0u) << i;
    EXPECT_EQ(counted.read->damaged, 1u) << i;
  }
}

TEST(Journal, WithoutItsHeaderItIsRefused) {
  EXPECT_THAT(count_units("").read.error().message, HasSubstr("not a journal"));
  EXPECT_THAT(count_units("{}\n").read.error().message, HasSubstr("not a journal"));
}

TEST(Journal, HasOneWriter) {
  const genscope::testing::TempDir folder;
  const Result<Journal> one = Journal::create(folder / "j", {});
  ASSERT_TRUE(one.ok());
  const Result<Journal> two = Journal::reopen(folder / "j");
  ASSERT_FALSE(two.ok());
  EXPECT_THAT(two.error().message, HasSubstr("another genscope writes to it"));
}

}  // namespace
}  // namespace genscope::bench
