// GGUF 1 to 3:
//
//   "GGUF" | u32 version | tensor count | kv count | kvs | tensor infos | padding | data
//   kv:    string key | u32 type | value          array: u32 type | count | bare elements
//   info:  string name | u32 rank | sizes, innermost first | u32 type | u64 offset in the data
//
// Counts, lengths and sizes have 32 bits in version 1, else 64. Arrays are passed over: a tokenizer
// has some of 150,000 strings.
#pragma once

#include <string_view>

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"

namespace genscope::inspect {

bool looks_like_gguf(std::string_view head) noexcept;
Result<TensorFile> read_gguf(const ByteSource& source);

// `first`: the header of one file of a split model ("split.count" of its metadata is above 1). All
// files beside it, by their names "-00001-of-00003.gguf"; a missing one is a note.
Result<TensorFile> read_gguf_split(TensorFile first, const ByteSource& source,
                                   std::vector<std::string>* files);

// Storage type of a number in a tensor info.
Dtype ggml_dtype(std::uint32_t type) noexcept;

}  // namespace genscope::inspect
