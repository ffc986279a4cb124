// safetensors:  u64 n | n bytes of JSON | data
//
// The JSON maps each tensor's name to its dtype, shape and [begin, end) in the data; the ranges
// must tile the data without hole or overlap. "__metadata__" maps strings to strings.
#pragma once

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"

namespace genscope::inspect {

// Limit of the format itself.
constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

// Whether the first nine bytes can be a safetensors file.
bool looks_like_safetensors(std::string_view head) noexcept;

Result<TensorFile> read_safetensors(const ByteSource& source);

}  // namespace genscope::inspect
