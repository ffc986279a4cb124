// Sizes of dtypes in whole numbers: elements come in blocks, a block has a fixed number of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "genscope/inspect.h"

namespace genscope::inspect {

struct Block {
  std::uint32_t elements = 1;
  std::uint32_t bytes = 0;  // 0: unknown dtype
};
Block block_of(Dtype dtype) noexcept;

// Bytes of so many elements, a last block that is not full rounded up. Nothing if they do not fit
// in 64 bits or the dtype is unknown.
std::optional<std::uint64_t> stored_bytes(Dtype dtype, std::uint64_t elements) noexcept;

// "BF16", "F8_E4M3": names of safetensors. Unknown if a later version of the format added it.
Dtype safetensors_dtype(std::string_view name) noexcept;

}  // namespace genscope::inspect
