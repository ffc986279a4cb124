// A trace file being made by write_trace: frames go out in blocks, and the file takes its name
// when it is whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "genscope/error.h"
#include "trace/frame.h"
#include "trace/open_spans.h"
#include "trace/pack.h"

namespace genscope::store {

class TraceOutput {
 public:
  // Nothing is created before the first block is full, or commit().
  explicit TraceOutput(std::string path) : path_(std::move(path)), part_(path_ + ".part") {}
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;
  ~TraceOutput();  // without commit() nothing is left behind

  void document(trace::FrameType type, std::string_view json);
  // The next chunk of its lane. `open` is the stack before its words, and is moved over them.
  void chunk(std::uint32_t lane, std::uint32_t seq, std::uint64_t base_tick,
             std::span<const std::uint64_t> words, trace::OpenSpans& open);
  // Whatever went wrong since the beginning is told here.
  Status commit();

 private:
  void flush();

  std::string path_;
  std::string part_;
  base::UniqueFd fd_;
  int error_ = 0;
  std::vector<std::byte> pending_;
  std::vector<std::byte> payload_;
  trace::Packer packer_;
};

}  // namespace genscope::store
