#include "store/trace_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "genscope/internal/word.h"

namespace genscope::store {
namespace {

constexpr std::size_t kOutputBytes = 1 << 20;

}  // namespace

TraceOutput::~TraceOutput() {
  if (fd_.valid()) ::unlink(part_.c_str());
}

void TraceOutput::document(trace::FrameType type, std::string_view json) {
  trace::FrameHeader header;
  header.type = type;
  trace::append_frame(header, std::as_bytes(std::span(json)), pending_);
}

void TraceOutput::chunk(std::uint32_t lane, std::uint32_t seq, std::uint64_t base_tick,
                        std::span<const std::uint64_t> words, trace::OpenSpans& open) {
  trace::FrameHeader header;
  header.type = trace::FrameType::chunk;
  header.codec = words.empty() ? trace::Codec::raw : trace::Codec::packed;
  header.lane = lane;
  header.seq = seq;
  header.base_tick = base_tick;
  header.words = static_cast<std::uint32_t>(words.size());
  header.open_spans = static_cast<std::uint32_t>(open.spans().size());
  const auto stack = std::as_bytes(std::span(open.spans()));
  payload_.assign(stack.begin(), stack.end());
  if (!words.empty()) {
    packer_.pack(words, {internal::make_id(lane, seq, 0), base_tick}, open, payload_);
  }
  trace::append_frame(header, payload_, pending_);
  if (pending_.size() > kOutputBytes) flush();
}

void TraceOutput::flush() {
  if (error_ != 0) return pending_.clear();
  if (!fd_.valid()) {
    fd_.reset(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd_.valid()) {
      error_ = errno;
      return;
    }
    const trace::Preamble preamble;
    error_ = base::write_all(fd_.get(), &preamble, sizeof preamble);
  }
  if (error_ == 0) error_ = base::write_all(fd_.get(), pending_.data(), pending_.size());
  pending_.clear();
}

Status TraceOutput::commit() {
  flush();
  if (error_ == 0 && ::rename(part_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ != 0) {
    Error error = base::errno_error("cannot write", path_, error_);
    error.message += "; choose a folder that can be written and has room";
    return error;
  }
  fd_.reset();
  return Done{};
}

}  // namespace genscope::store
