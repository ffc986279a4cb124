#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "genscope/optimize/cache_tiers.h"
#include "testing/temp_dir.h"

namespace genscope::optimize {
namespace {

Key disk_key(int number) { return KeyBuilder("disk").add(number).build(); }
// A value that says whose it is: of a size that depends on the number, above and below 64 KiB.
std::string disk_value(int number) {
  std::string value;
  while (value.size() < 2'000 + static_cast<std::size_t>(number % 7) * 20'000)
    value += std::to_string(number) + ",";
  return value;
}
std::unique_ptr<DiskTier> open_tier(const std::string& folder, std::uint64_t capacity = 10 << 20) {
  auto tier = DiskTier::open(folder, capacity);
  EXPECT_TRUE(tier.ok()) << (tier.ok() ? "" : tier.error().message);
  return std::move(*tier);
}
std::size_t blobs_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "blobs"))
    count += file.is_regular_file();
  return count;
}

TEST(CacheDisk, KeepsSmallAndLargeValuesAcrossProcesses) {
  const testing::TempDir folder;
  {
    const auto tier = open_tier(folder.path());
    for (int i = 0; i < 14; ++i) EXPECT_TRUE(tier->put(disk_key(i), disk_value(i)));
    EXPECT_FALSE(tier->get(disk_key(99)));
  }
  const auto tier = open_tier(folder.path());
  for (int i = 0; i < 14; ++i) EXPECT_EQ(tier->get(disk_key(i)), disk_value(i));
  EXPECT_EQ(blobs_in(folder.path()), 6U);  // of 82 kB and more
  EXPECT_TRUE(tier->put(disk_key(6), "small now"));
  EXPECT_EQ(tier->get(disk_key(6)), "small now");
  EXPECT_TRUE(tier->erase(disk_key(5)));
  EXPECT_FALSE(tier->erase(disk_key(5)));
  EXPECT_EQ(blobs_in(folder.path()), 4U);
  EXPECT_EQ(tier->stats().entries, 13U);
  tier->clear();
  EXPECT_EQ(tier->stats().bytes, 0U);
  EXPECT_EQ(blobs_in(folder.path()), 0U);
}

TEST(CacheDisk, StaysWithinItsBytesAndKeepsWhatIsUsed) {
  const testing::TempDir folder;
  const auto tier = open_tier(folder.path(), 1'000'000);
  EXPECT_FALSE(tier->put(disk_key(-1), std::string(200'000, 'x')));  // above a tenth
  EXPECT_EQ(tier->stats().refused, 1U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(tier->put(disk_key(i), std::string(90'000, 'x')));
    EXPECT_LE(tier->stats().bytes, 1'000'000U);
    EXPECT_TRUE(tier->get(disk_key(0))) << i;
  }
  EXPECT_GT(tier->stats().evicted, 80U);
  EXPECT_LE(blobs_in(folder.path()), 11U);
}

TEST(CacheDisk, ExpiresAndIgnoresDamage) {
  const testing::TempDir folder;
  const auto tier = open_tier(folder.path());
  tier->put(disk_key(1), "gone", 1e-9);
  EXPECT_FALSE(tier->get(disk_key(1)));
  const std::string large(100'000, 'a');
  tier->put(disk_key(2), large);
  tier->put(disk_key(3), large);
  int at = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "blobs")) {
    if (at++ == 0) {
      std::ofstream(file.path()) << "other bytes";
    } else {
      std::filesystem::remove(file.path());
    }
  }
  EXPECT_FALSE(tier->get(disk_key(2)));
  EXPECT_FALSE(tier->get(disk_key(3)));
  EXPECT_EQ(tier->stats().damaged, 2U);
  EXPECT_TRUE(tier->put(disk_key(2), large));
  EXPECT_EQ(tier->get(disk_key(2)), large);
}

TEST(CacheDisk, AnIndexThatIsNoDatabaseIsMadeAnew) {
  const testing::TempDir folder;
  std::ofstream(folder / "index.sqlite")
      << "This is not a database, and it is long enough to see that. " << std::string(5'000, 'x');
  const auto tier = open_tier(folder.path());
  EXPECT_TRUE(tier->put(disk_key(1), "x"));
  EXPECT_EQ(tier->get(disk_key(1)), "x");
  EXPECT_FALSE(DiskTier::open("/proc/nowhere", 1'000).ok());
}

TEST(CacheDisk, ACacheFindsThereWhatAnotherMade) {
  const testing::TempDir folder;
  CacheOptions options;
  options.capacity_bytes = 1'000;
  options.disk = open_tier(folder.path());
  options.codec.encode = [](const Value& value, std::string& bytes) {
    bytes = *value.as<std::string>();
    return bytes != "local";
  };
  options.codec.decode = [](std::string_view bytes) {
    return Value::of(std::string(bytes), bytes.size());
  };
  int loads = 0;
  const auto loading = [&](const char* text) {
    return [&loads, text](const std::stop_token&) -> Result<Value> {
      ++loads;
      return Value::of(std::string(text), 10);
    };
  };
  for (int round = 0; round < 2; ++round) {
    Cache cache(options);
    EXPECT_EQ(*cache.get_or_load(disk_key(1), loading("shared")).value.as<std::string>(), "shared");
    EXPECT_EQ(*cache.get_or_load(disk_key(2), loading("local")).value.as<std::string>(), "local");
    EXPECT_EQ(cache.get_or_load(disk_key(1), loading("other")).outcome, Outcome::hit);
  }
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(options.disk->stats().hits, 1U);
}

// A child writes and says which values it has; it is killed at some instant. What it had said is
// there.
TEST(CacheDisk, SurvivesKill9AtAnyInstant) {
  const testing::TempDir folder;
  int lost = 0, seen = 0;
  for (int round = 0; round < 12; ++round) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto tier = DiskTier::open(folder.path(), 10 << 20);
      for (int i = 0; tier.ok(); ++i) {
        const int number = round * 1'000 + i;
        if ((*tier)->put(disk_key(number), disk_value(number)) &&
            write(pipes[1], &number, sizeof(number)) < 0)
          break;
      }
      _exit(0);
    }
    close(pipes[1]);
    std::vector<int> written;
    int number = 0;
    while (static_cast<int>(written.size()) < 3 + round * 2 &&
           read(pipes[0], &number, sizeof(number)) == sizeof(number)) {
      written.push_back(number);
    }
    kill(child, SIGKILL);
    while (read(pipes[0], &number, sizeof(number)) == sizeof(number)) written.push_back(number);
    waitpid(child, nullptr, 0);
    close(pipes[0]);
    const auto tier = open_tier(folder.path());
    for (const int had : written) {
      ++seen;
      lost += tier->get(disk_key(had)) == disk_value(had) ? 0 : 1;
    }
    EXPECT_EQ(tier->stats().damaged, 0U);
    EXPECT_EQ(tier->stats().failures, 0U) << tier->stats().last_error;
  }
  EXPECT_GT(seen, 100);
  EXPECT_EQ(lost, 0);
  // And no file is left that nobody knows.
  const auto tier = open_tier(folder.path());
  std::size_t large = 0;
  for (int number = 0; number < 12'000; ++number) {
    const auto value = tier->get(disk_key(number));
    large += value && value->size() >= 64 << 10 ? 1 : 0;
  }
  EXPECT_EQ(blobs_in(folder.path()), large);
}

// Writes beyond a limit fail as those on a full disk do.
TEST(CacheDisk, AFullDiskIsCountedAndTheRestGoesOn) {
  const testing::TempDir folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto tier = DiskTier::open(folder.path(), 100 << 20);
    if (!tier.ok() || !(*tier)->put(disk_key(1), "kept")) _exit(1);
    const rlimit limit{300'000, 300'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    if ((*tier)->put(disk_key(2), std::string(1'000'000, 'x'))) _exit(2);
    if ((*tier)->get(disk_key(2))) _exit(3);
    if ((*tier)->get(disk_key(1)) != "kept") _exit(4);
    if ((*tier)->stats().failures != 1) _exit(5);
    int failed = 0;
    for (int i = 10; i < 40; ++i)
      failed += (*tier)->put(disk_key(i), std::string(30'000, 'y')) ? 0 : 1;
    if (failed == 0) _exit(6);  // the index itself cannot grow any more
    if ((*tier)->get(disk_key(1)) != "kept") _exit(7);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(open_tier(folder.path())->get(disk_key(1)), "kept");
}

}  // namespace
}  // namespace genscope::optimize
