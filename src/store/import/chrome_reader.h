// Goes through a Chrome trace of any size: the events one by one, the few fields around them.
//
//   file = array | object      array  = [ event, event, ...      the end may be missing
//                              object = { "key": value, ..., "traceEvents": array, ... }
//
// Memory: one block, which grows to the longest event, kMaxEventBytes at most.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/error.h"
#include "store/import/byte_source.h"
#include "store/import/chrome_event.h"

namespace genscope::store {

class ChromeHandler {
 public:
  virtual ~ChromeHandler() = default;
  // An event that is well-formed JSON; null if it can be used, else what is wrong with it. The
  // views in it live until the return.
  virtual const char* event(const ChromeEvent& event) = 0;
  // A field beside traceEvents, as it stands in the file; only those that wants() named.
  virtual bool wants(std::string_view key) const = 0;
  virtual void field(std::string_view key, std::string_view json) = 0;
  // After each block; false stops the reading.
  virtual bool progress() { return true; }
};

class ChromeReader {
 public:
  static constexpr std::size_t kMaxEventBytes = 16 << 20;
  static constexpr std::size_t kMaxTold = 3;  // problems that are described; all are counted

  ChromeReader(ByteSource source, std::string path)
      : source_(std::move(source)), path_(std::move(path)), block_(kBlockBytes) {}

  // An Error if the bytes are no Chrome trace at all, or cannot be read on.
  Status read(ChromeHandler& handler);

  const ByteSource& source() const { return source_; }
  std::uint64_t bytes() const { return block_offset_ + filled_; }  // of JSON
  std::uint64_t malformed() const { return malformed_; }
  std::uint64_t repaired() const { return repaired_; }  // strings
  const std::vector<std::string>& problems() const { return problems_; }
  bool truncated() const { return truncated_; }

 private:
  static constexpr std::size_t kBlockBytes = 1 << 20;

  // More bytes behind those that are there; false at the end of the file, or on an error.
  bool fill();
  // The next byte that is no blank; 0 at the end.
  char peek();
  // Repeats `parse`, which takes a JsonCursor&, until it needs no more bytes.
  template <class Parse>
  Scan attempt(Parse parse);
  // Passes over a value of any size and depth by its quotes and brackets alone.
  void pass();
  void pass_until(std::string_view stops);
  void object(ChromeHandler& handler);
  void member(ChromeHandler& handler, const std::string& key);
  void events(ChromeHandler& handler, bool may_end);
  void one_event(ChromeHandler& handler);
  void complain(std::uint64_t offset, std::string_view what);
  void cut_off(std::uint64_t offset, const char* where);
  std::uint64_t offset() const { return block_offset_ + at_; }

  ByteSource source_;
  std::string path_;
  std::vector<char> block_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t block_offset_ = 0;  // of block_[0] in the JSON
  bool ended_ = false;
  bool stopped_ = false;
  bool found_events_ = false;
  Status failure_ = Done{};
  ChromeHandler* handler_ = nullptr;

  ChromeEvent event_;
  StringPool pool_;
  std::uint64_t malformed_ = 0, repaired_ = 0;
  std::vector<std::string> problems_;
  bool truncated_ = false;
};

}  // namespace genscope::store
