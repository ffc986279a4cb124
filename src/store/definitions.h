// The process lane, decoded: what numbers in the other lanes mean.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "genscope/internal/word.h"
#include "genscope/trace.h"
#include "store/chunks.h"
#include "store/clock_map.h"
#include "trace/meta.h"
#include "trace/pack.h"

namespace genscope::store {

// Site numbers to indices of Trace::names. A number without a definition gets a name that says so.
class NameIndex {
 public:
  explicit NameIndex(std::vector<Name>& names) : names_(names) {}
  void define(std::uint32_t site, Name name);
  std::uint32_t of(std::uint32_t site) {
    if (site < index_.size() && index_[site] != kNone) [[likely]]
      return index_[site];
    return of_rare(site);
  }

 private:
  std::uint32_t of_rare(std::uint32_t site);
  std::uint32_t& slot(std::uint32_t site);

  std::vector<Name>& names_;
  std::vector<std::uint32_t> index_;                             // user names, numbered from 1
  std::unordered_map<std::uint32_t, std::uint32_t> well_known_;  // those from kMaxUserSite on
};

struct Definitions {
  struct Thread {
    std::uint32_t tid = 0;
    std::string name;
    bool named = false;  // by the program, which wins over the OS's name
  };
  std::unordered_map<std::uint32_t, Thread> threads;  // by lane
  std::vector<base::ClockSnapshot> clocks;
  std::vector<trace::LossMeta> losses;
};

// Calls `take` for each meta record; counts what is none.
template <class Take>
void for_each_meta(std::span<const std::uint64_t> words, std::uint64_t& bad_words, Take take) {
  for (std::size_t i = 0; i < words.size();) {
    const std::uint64_t head = words[i];
    const std::uint64_t n = internal::payload_words(head);
    if (internal::op_of(head) != internal::Op::meta || n > words.size() - i - 1) {
      bad_words++;
      i++;
      continue;
    }
    if (const auto meta = trace::decode(head, words.subspan(i + 1, n))) {
      take(*meta);
    } else {
      bad_words++;
    }
    i += 1 + n;
  }
}

// Reads all of `chunks`; damaged ones are counted in `integrity`.
Definitions read_definitions(const std::vector<Chunk>& chunks, NameIndex& names,
                             Integrity& integrity);

// A chunk's words, raw or unpacked; `open` becomes the stack before them. Valid until the next
// call with the same unpacker, or as long as the chunk's bytes.
Result<std::span<const std::uint64_t>> words_of(const Chunk& chunk, trace::Unpacker& unpacker,
                                                std::vector<trace::OpenSpan>& open);

}  // namespace genscope::store
