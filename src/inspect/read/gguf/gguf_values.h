// The metadata pairs of a GGUF file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "genscope/inspect.h"
#include "inspect/read/byte_cursor.h"

namespace genscope::inspect {

// A count, length or size: 64 bits, or 32 in version 1.
bool take_count(ByteCursor& cursor, bool wide, std::uint64_t& value);

struct GgufValues {
  std::vector<std::pair<std::string, std::string>> metadata;
  std::uint64_t left_out = 0;  // pairs beyond kMaxMetadata
  std::uint64_t alignment = 32;
  // Shapes that converters note where GGUF cannot hold them, by the tensor's name.
  std::vector<std::pair<std::string, Shape>> original_shapes;
};

// One pair; false if the cursor failed.
bool take_pair(ByteCursor& cursor, bool wide, GgufValues& values);

}  // namespace genscope::inspect
