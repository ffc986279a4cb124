// Any bytes as a trace file. The first byte chooses how:
//   even  the rest is the file
//   odd   the rest describes frames, which get whole headers and checksums, so that what lies
//         behind those is reached:
//           type | codec << 4, flags, lane, seq, open_spans : 1 byte each
//           words : 2 bytes, 0xFFFF for "as many as fit"
//           base_tick : 8 bytes    length : 2 bytes    payload
#include "check_trace.h"
#include "input.h"
#include "trace/frame.h"

namespace {

using namespace genscope;

void append_described(fuzz::Input& in, std::vector<std::byte>& out) {
  trace::FrameHeader header;
  const auto kind = in.take<std::uint8_t>();
  header.type = static_cast<trace::FrameType>(kind & 15);
  header.codec = static_cast<trace::Codec>(kind >> 4);
  header.flags = in.take<std::uint8_t>();
  header.lane = in.take<std::uint8_t>();
  header.seq = in.take<std::uint8_t>();
  header.open_spans = in.take<std::uint8_t>();
  header.words = in.take<std::uint16_t>();
  header.base_tick = in.take<std::uint64_t>();
  const auto payload = in.bytes(in.take<std::uint16_t>());
  if (header.words == 0xFFFF) {
    const std::size_t open = std::size_t{header.open_spans} * sizeof(trace::OpenSpan);
    header.words =
        static_cast<std::uint32_t>(payload.size() > open ? (payload.size() - open) / 8 : 0);
  }
  trace::append_frame(header, payload, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = fuzz::scratch() + "/input.gst";
  fuzz::Input in(data, size);
  std::vector<std::byte> file;
  if (in.take<std::uint8_t>() % 2 == 0) {
    const auto rest = in.bytes(in.left());
    file.assign(rest.begin(), rest.end());
  } else {
    const trace::Preamble preamble;
    file.resize(sizeof preamble);
    std::memcpy(file.data(), &preamble, sizeof preamble);
    while (in.left() > 0) append_described(in, file);
  }
  fuzz::write(path, file);
  fuzz::read_and_check(path);
  return 0;
}
