// Any bytes as the live buffer beside a small trace file. First byte even: the rest is the file.
// Odd: the rest describes chunks, laid out behind a header that fits:
//   state, lane, seq : 1 byte each    base, tail - data : 8 and 2 bytes    512 - 64 bytes of words
#include "check_trace.h"
#include "input.h"
#include "trace/frame.h"
#include "trace/live.h"

namespace {

using namespace genscope;

constexpr std::size_t kChunkBytes = 512;
constexpr char kId[] = "00000000000000000000000000000000";

struct ChunkBytes {
  std::uint64_t tail, data, base;
  std::uint32_t state, lane, seq, link, cycle, last, reserved[4];
};

// A trace that names the live buffer and has one chunk in the file.
void write_trace(const std::string& path) {
  const trace::Preamble preamble;
  std::vector<std::byte> file(sizeof preamble);
  std::memcpy(file.data(), &preamble, sizeof preamble);
  const std::string json =
      std::string(R"({"trace_id":")") + kId +
      R"(","live":"input.live","clock":"monotonic","started_monotonic_ns":1000})";
  trace::FrameHeader header;
  header.type = trace::FrameType::process;
  trace::append_frame(header, std::as_bytes(std::span(json)), file);
  const std::uint64_t words[] = {internal::make_word(internal::Op::begin, 1, 10),
                                 internal::make_word(internal::Op::begin, 2, 20),
                                 internal::make_word(internal::Op::end, 1, 30)};
  header.type = trace::FrameType::chunk;
  header.lane = 1;
  header.words = 3;
  header.base_tick = 1000;
  trace::append_frame(header, std::as_bytes(std::span(words)), file);
  fuzz::write(path, file);
}

std::vector<std::byte> described(fuzz::Input& in) {
  trace::LiveHeader header;
  header.lane_slots = 4;
  header.chunk_bytes = kChunkBytes;
  header.chunk_offset = trace::kSlotsOffset + 4 * sizeof(trace::LaneSlot);
  std::vector<std::byte> file(header.chunk_offset);
  const auto slots = in.bytes(2 * sizeof(trace::LaneSlot));
  if (!slots.empty()) std::memcpy(file.data() + trace::kSlotsOffset, slots.data(), slots.size());
  while (in.left() > 0 && header.chunk_count < 64) {
    ChunkBytes chunk{};
    chunk.state = in.take<std::uint8_t>();
    chunk.lane = in.take<std::uint8_t>();
    chunk.seq = in.take<std::uint8_t>();
    chunk.base = in.take<std::uint64_t>();
    chunk.data = 0x10000;
    chunk.tail = chunk.data + in.take<std::uint16_t>() % 1024;
    const std::size_t at = file.size();
    file.resize(at + kChunkBytes);
    std::memcpy(file.data() + at, &chunk, sizeof chunk);
    const auto words =
        in.bytes(std::min<std::size_t>(chunk.tail - chunk.data, kChunkBytes - sizeof chunk));
    if (!words.empty()) std::memcpy(file.data() + at + sizeof chunk, words.data(), words.size());
    header.chunk_count++;
  }
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = [] {
    std::string p = fuzz::scratch() + "/input.gst";
    write_trace(p);
    return p;
  }();
  fuzz::Input in(data, size);
  std::vector<std::byte> live;
  if (in.take<std::uint8_t>() % 2 == 0) {
    const auto rest = in.bytes(in.left());
    live.assign(rest.begin(), rest.end());
  } else {
    live = described(in);
  }
  fuzz::write(fuzz::scratch() + "/input.live", live);
  fuzz::read_and_check(path);
  return 0;
}
