// Where a cache looks before it makes a value anew: a folder on this machine's disk, and a Redis
// (or Valkey) that several machines share. Both keep bytes, by the same keys as Cache.
//
// A tier never fails its caller: a full disk, a damaged file or a Redis that is gone is a miss or a
// value that was not kept, and is counted. All may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "genscope/error.h"
#include "genscope/optimize/cache.h"

namespace genscope::optimize {

struct TierStats {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t writes = 0;
  std::uint64_t refused = 0;   // too large
  std::uint64_t failures = 0;  // reads and writes that the disk or the network failed
  std::uint64_t damaged = 0;   // content that was not what had been written; it is dropped
  std::uint64_t skipped = 0;   // not even tried, for Redis had failed shortly before
  std::uint64_t evicted = 0;   // disk only
  std::uint64_t entries = 0, bytes = 0;  // disk only, now
  std::string last_error;
};

// A folder: an index in SQLite, values from 64 KiB on in files of their own. Killing the process at
// any instant loses at most the value that was being written. Processes may share a folder.
class DiskTier {
 public:
  // The folder is made if it is missing. Files in it that the index does not know are removed.
  static Result<std::unique_ptr<DiskTier>> open(const std::string& folder,
                                                std::uint64_t capacity_bytes);
  ~DiskTier();

  std::optional<std::string> get(const Key& key);
  // `ttl_s` 0: never expires. False if it was not kept. What was used longest ago makes room.
  bool put(const Key& key, std::string_view bytes, double ttl_s = 0);
  bool erase(const Key& key);
  void clear();
  TierStats stats() const;

 private:
  struct Impl;
  explicit DiskTier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct RedisOptions {
  // redis://[user:password@]host[:port][/database] or unix:///path/to/socket
  std::string url = "redis://127.0.0.1:6379";
  std::string prefix = "genscope:1:";  // of all keys
  double timeout_s = 0.25;             // for connecting, and for each answer
  std::uint64_t largest_bytes = std::uint64_t{8} << 20;
  // After three failures in a row Redis is left alone for this long, doubling up to 30 s.
  double pause_s = 1;
};

class RedisTier {
 public:
  // Connects with the first use. An error only for a url that makes no sense.
  static Result<std::unique_ptr<RedisTier>> open(RedisOptions options = {});
  ~RedisTier();

  std::optional<std::string> get(const Key& key);
  // With `only_new`, an entry that is there stays.
  bool put(const Key& key, std::string_view bytes, double ttl_s = 0, bool only_new = false);
  bool erase(const Key& key);
  TierStats stats() const;

 private:
  struct Impl;
  explicit RedisTier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::optimize
