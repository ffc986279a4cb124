// The directory of a zip archive (zip64 too), as far as torch checkpoints need it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inspect/read/byte_source.h"

namespace genscope::inspect {

struct ZipEntry {
  std::string name;
  std::uint64_t header = 0;  // offset of its local header
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint16_t method = 0;  // 0: stored
  bool encrypted = false;
};

// Entries whose name ends with `suffix`; all others are passed over.
Result<std::vector<ZipEntry>> find_zip_entries(const ByteSource& source, std::string_view suffix);

// The bytes of a stored entry of at most `limit` bytes. A compressed one is refused: torch stores
// its pickles as they are, and what inflates is a risk without a use.
Result<std::string> read_zip_entry(const ByteSource& source, const ZipEntry& entry,
                                   std::uint64_t limit);

}  // namespace genscope::inspect
