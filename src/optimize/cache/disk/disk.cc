// A value is written before the index knows it: a file under a name of its own, moved into place by
// rename, then one row in one statement. So whenever the process is killed, a row has its file; a
// file without a row is what was being written, and the next open() removes it. A row carries the
// checksum of its value and the whole key: what does not match is a miss and is dropped.
//
// The index is in WAL mode with synchronous=NORMAL: a killed process loses nothing that was
// written, a power cut may lose the last values, not the index. Use is noted in memory and written
// with the next put, so that reading does not write.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "genscope/optimize/cache_tiers.h"
#include "optimize/cache/disk/sqlite.h"

namespace genscope::optimize {
namespace {

constexpr std::size_t kOwnFile = 64 << 10;
constexpr std::size_t kUsedAtOnce = 256;  // uses noted in memory
constexpr double kLargestOnDisk = 0.1;    // of the capacity

constexpr const char* kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS entries(hash BLOB PRIMARY KEY, key BLOB NOT NULL, size INTEGER NOT "
    "NULL,"
    " checksum INTEGER NOT NULL, expires_ms INTEGER NOT NULL, used INTEGER NOT NULL, value BLOB, "
    "file INTEGER);"
    "CREATE INDEX IF NOT EXISTS entries_used ON entries(used);";

std::string hash_bytes(const Key& key) {
  const std::uint64_t words[] = {key.low(), key.high()};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

std::int64_t unix_ms() { return base::realtime_ns() / 1'000'000; }

}  // namespace

struct DiskTier::Impl {
  using Step = cache::DiskStatement::Step;

  std::string folder;
  std::uint64_t capacity = 0;
  mutable std::mutex mutex;
  cache::DiskDatabase database;
  cache::DiskStatement find, insert, remove, oldest, touch, total, newest;
  std::unordered_map<std::string, std::int64_t> used;  // hash -> when, to be written
  std::int64_t clock = 0;
  std::uint64_t bytes = 0;
  TierStats counts;

  std::string blob_path(std::int64_t file) const {
    return fmt::format("{}/blobs/{:x}", folder, file);
  }

  bool prepare() {
    find = database.prepare(
        "SELECT key, size, checksum, expires_ms, value, file FROM entries WHERE hash=?1");
    insert = database.prepare(
        "INSERT OR REPLACE INTO entries(hash, key, size, checksum, expires_ms, used, value, file)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    remove = database.prepare("DELETE FROM entries WHERE hash=?1");
    oldest = database.prepare("SELECT hash, size, file FROM entries ORDER BY used LIMIT 32");
    touch = database.prepare("UPDATE entries SET used=?2 WHERE hash=?1");
    total = database.prepare("SELECT coalesce(sum(size), 0), count(*) FROM entries");
    newest = database.prepare("SELECT coalesce(max(used), 0) FROM entries");
    if (newest.step() != Step::row) return false;
    clock = newest.integer_at(0);
    newest.reset();
    return recount();
  }
  bool recount() {
    if (total.step() != Step::row) return false;
    bytes = static_cast<std::uint64_t>(total.integer_at(0));
    counts.entries = static_cast<std::uint64_t>(total.integer_at(1));
    total.reset();
    return true;
  }
  void failed(const std::string& why) {
    ++counts.failures;
    counts.last_error = why;
  }

  // Files that no row knows: what was being written when a process was killed.
  void sweep() {
    std::unordered_set<std::string> known;
    cache::DiskStatement files =
        database.prepare("SELECT file FROM entries WHERE file IS NOT NULL");
    while (files.step() == Step::row) known.insert(fmt::format("{:x}", files.integer_at(0)));
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(folder + "/blobs", ignored)) {
      if (known.count(file.path().filename()) != 0) continue;
      if (writer_is_gone(file.path().filename())) std::filesystem::remove(file.path(), ignored);
    }
  }
  // The name of a file being written ends with the process that writes it. One in place without a
  // row had a writer that was killed; or it is between the two steps, and its value is lost, no
  // more.
  static bool writer_is_gone(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return true;
    return access(("/proc/" + name.substr(dot + 1)).c_str(), F_OK) != 0;
  }

  // An errno, 0 for success. A short write removes what is there.
  int write_blob(std::int64_t file, std::string_view content) const {
    const std::string path = blob_path(file), writing = fmt::format("{}.{}", path, getpid());
    base::UniqueFd fd(::open(writing.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return errno;
    int error = base::write_all(fd.get(), content.data(), content.size());
    if (error == 0 && rename(writing.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) unlink(writing.c_str());
    return error;
  }

  void drop_row(const std::string& hash, bool has_file, std::int64_t file) {
    remove.bytes(1, hash);
    if (!remove.run()) failed(database.error());
    if (has_file) unlink(blob_path(file).c_str());
  }

  void write_used() {
    if (used.empty()) return;
    database.execute("BEGIN");
    for (const auto& [hash, when] : used) {
      touch.bytes(1, hash).integer(2, when);
      touch.run();
    }
    database.execute("COMMIT");
    used.clear();
  }

  // Down to the capacity, less a twentieth, so that it is not done for each put.
  void make_room() {
    if (bytes <= capacity || !recount() || bytes <= capacity) return;
    write_used();
    while (bytes > capacity - capacity / 20) {
      struct Row {
        std::string hash;
        std::uint64_t size;
        bool has_file;
        std::int64_t file;
      };
      std::vector<Row> rows;
      while (oldest.step() == Step::row) {
        rows.push_back({std::string(oldest.bytes_at(0)),
                        static_cast<std::uint64_t>(oldest.integer_at(1)), !oldest.null_at(2),
                        oldest.integer_at(2)});
      }
      oldest.reset();
      if (rows.empty()) break;
      for (const Row& row : rows) {
        drop_row(row.hash, row.has_file, row.file);
        bytes -= std::min(bytes, row.size);
        ++counts.evicted;
        if (bytes <= capacity - capacity / 20) break;
      }
    }
    recount();
  }
};

DiskTier::DiskTier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DiskTier::~DiskTier() {
  const std::lock_guard lock(impl_->mutex);
  impl_->write_used();
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(const std::string& folder,
                                                 std::uint64_t capacity_bytes) {
  auto impl = std::make_unique<Impl>();
  impl->folder = base::absolute_path(folder);
  impl->capacity = capacity_bytes;
  if (const Status made = base::make_directories(impl->folder + "/blobs"); !made)
    return made.error();
  const std::string path = impl->folder + "/index.sqlite";
  // What cannot be read is not worth keeping: a cache can be made anew.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (impl->database.open(path) && impl->database.execute(kSchema) && impl->prepare()) {
      impl->sweep();
      return std::unique_ptr<DiskTier>(new DiskTier(std::move(impl)));
    }
    if (attempt == 1 || !impl->database.is_damaged()) break;
    auto fresh = std::make_unique<Impl>();
    fresh->folder = impl->folder;
    fresh->capacity = capacity_bytes;
    fresh->counts.damaged = 1;
    impl = std::move(fresh);
    for (const char* const end : {"", "-wal", "-shm"}) unlink((path + end).c_str());
  }
  return Error{ErrorCode::io, fmt::format("{}: {}; name a folder that can be written", path,
                                          impl->database.error())};
}

std::optional<std::string> DiskTier::get(const Key& key) {
  const std::string hash = hash_bytes(key);
  std::string value;
  std::uint64_t wanted = 0;
  std::size_t size = 0;
  std::int64_t file = 0;
  bool has_file = false;
  {
    const std::lock_guard lock(impl_->mutex);
    cache::DiskStatement& find = impl_->find;
    find.bytes(1, hash);
    const auto step = find.step();
    if (step != cache::DiskStatement::Step::row || find.bytes_at(0) != key.bytes() ||
        (find.integer_at(3) != 0 && find.integer_at(3) <= unix_ms())) {
      if (step == cache::DiskStatement::Step::failed) impl_->failed(impl_->database.error());
      find.reset();
      ++impl_->counts.misses;
      return std::nullopt;
    }
    size = static_cast<std::size_t>(find.integer_at(1));
    wanted = static_cast<std::uint64_t>(find.integer_at(2));
    has_file = !find.null_at(5);
    file = find.integer_at(5);
    if (!has_file) value = find.bytes_at(4);
    find.reset();
  }
  bool good = true;
  if (has_file) {
    Result<std::string> read = base::read_file(impl_->blob_path(file), size + 1);
    good = read.ok();
    if (good) value = std::move(*read);
  }
  good = good && value.size() == size && base::checksum(value.data(), value.size()) == wanted;
  const std::lock_guard lock(impl_->mutex);
  if (!good) {
    ++impl_->counts.misses;
    ++impl_->counts.damaged;
    impl_->drop_row(hash, has_file, file);
    impl_->recount();
    return std::nullopt;
  }
  ++impl_->counts.hits;
  impl_->used[hash] = ++impl_->clock;
  if (impl_->used.size() >= kUsedAtOnce) impl_->write_used();
  return value;
}

bool DiskTier::put(const Key& key, std::string_view bytes, double ttl_s) {
  const std::string hash = hash_bytes(key);
  const bool own_file = bytes.size() >= kOwnFile;
  static std::atomic<std::uint32_t> numbers{0};
  const std::int64_t file =
      (base::realtime_ns() << 8 & 0x7FFF'FFFF'FFFF'FF00) | (numbers.fetch_add(1) & 0xFF);
  if (static_cast<double>(bytes.size()) > kLargestOnDisk * static_cast<double>(impl_->capacity)) {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->counts.refused;
    return false;
  }
  if (own_file) {
    if (const int error = impl_->write_blob(file, bytes); error != 0) {
      const std::lock_guard lock(impl_->mutex);
      impl_->failed(fmt::format("{}: {}", impl_->folder, std::strerror(error)));
      return false;
    }
  }
  const std::lock_guard lock(impl_->mutex);
  std::optional<std::int64_t> old_file;
  impl_->find.bytes(1, hash);
  if (impl_->find.step() == cache::DiskStatement::Step::row) {
    if (!impl_->find.null_at(5)) old_file = impl_->find.integer_at(5);
    impl_->bytes -= std::min(impl_->bytes, static_cast<std::uint64_t>(impl_->find.integer_at(1)));
    --impl_->counts.entries;
  }
  impl_->find.reset();
  const std::uint64_t checksum = base::checksum(bytes.data(), bytes.size());
  cache::DiskStatement& insert = impl_->insert;
  insert.bytes(1, hash).bytes(2, key.bytes()).integer(3, static_cast<std::int64_t>(bytes.size()));
  insert.integer(4, static_cast<std::int64_t>(checksum));
  insert.integer(5, ttl_s > 0 ? unix_ms() + static_cast<std::int64_t>(ttl_s * 1'000) : 0);
  insert.integer(6, ++impl_->clock);
  if (own_file) {
    insert.null(7).integer(8, file);
  } else {
    insert.bytes(7, bytes).null(8);
  }
  if (!insert.run()) {
    impl_->failed(impl_->database.error());
    if (own_file) unlink(impl_->blob_path(file).c_str());
    impl_->recount();
    return false;
  }
  if (old_file) unlink(impl_->blob_path(*old_file).c_str());
  impl_->bytes += bytes.size();
  ++impl_->counts.entries;
  ++impl_->counts.writes;
  impl_->make_room();
  return true;
}

bool DiskTier::erase(const Key& key) {
  const std::string hash = hash_bytes(key);
  const std::lock_guard lock(impl_->mutex);
  impl_->find.bytes(1, hash);
  if (impl_->find.step() != cache::DiskStatement::Step::row) {
    impl_->find.reset();
    return false;
  }
  const bool has_file = !impl_->find.null_at(5);
  const std::int64_t file = impl_->find.integer_at(5);
  impl_->find.reset();
  impl_->drop_row(hash, has_file, file);
  impl_->recount();
  return true;
}

void DiskTier::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->used.clear();
  if (!impl_->database.execute("DELETE FROM entries")) impl_->failed(impl_->database.error());
  impl_->sweep();
  impl_->recount();
}

TierStats DiskTier::stats() const {
  const std::lock_guard lock(impl_->mutex);
  TierStats stats = impl_->counts;
  stats.bytes = impl_->bytes;
  return stats;
}

}  // namespace genscope::optimize
