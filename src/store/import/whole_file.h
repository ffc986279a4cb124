// A file of a format that cannot be read in pieces: all of it, inflated.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <genscope/store.h>

#include "store/import/byte_source.h"

namespace genscope::store {

inline constexpr std::size_t kMostWholeBytes = std::size_t{512} << 20;

// `what` names the format in the message about a file that is too large, or was cut off.
inline Result<std::string> whole_file(const std::string& path, const ImportOptions& options,
                                      std::string_view what) {
  Result<ByteSource> source = ByteSource::open(path, {options.max_bytes, options.max_ratio});
  if (!source.ok()) return source.error();
  std::string bytes;
  for (;;) {
    constexpr std::size_t kBlock = 1 << 20;
    const std::size_t at = bytes.size();
    if (at > kMostWholeBytes) {
      return Error{ErrorCode::bad_data, fmt::format("{}: {} of more than {} MiB is not read", path,
                                                    what, kMostWholeBytes >> 20)};
    }
    bytes.resize(at + kBlock);
    const Result<std::size_t> n = source->read(bytes.data() + at, kBlock);
    if (!n.ok()) return n.error();
    bytes.resize(at + *n);
    if (*n == 0) break;
  }
  if (!source->problem().empty()) {
    return Error{ErrorCode::bad_data, path + ": " + source->problem()};
  }
  return bytes;
}

}  // namespace genscope::store
