// A run directory that changes in any way between polls. The input is a list of actions:
//   0  add a frame with whole checksums: type | codec << 4, flags, lane, seq, open_spans : 1 byte
//      each, base_tick : 8 bytes, length : 2 bytes, payload
//   1  add bytes: length : 1 byte, the bytes
//   2  put a chunk into the live buffer: place, state, lane, seq : 1 byte each, base : 8 bytes,
//      bytes used : 2 bytes, words
//   3  cut the file: by 1 byte's value * 16
//   4  begin the next segment, and delete the first with an odd byte
//   5  remove the live buffer
//   6  poll
#include <cmath>
#include <cstdio>

#include "check_trace.h"
#include "genscope/internal/word.h"
#include "input.h"
#include "store/follow.h"
#include "trace/frame.h"
#include "trace/live.h"

namespace {

using namespace genscope;

constexpr std::size_t kChunkBytes = 512, kChunks = 8;
constexpr char kId[] = "00000000000000000000000000000000";

struct ChunkBytes {
  std::uint64_t tail, data, base;
  std::uint32_t state, lane, seq, link, cycle, last, reserved[4];
};

class RunDirectory {
 public:
  RunDirectory() {
    std::filesystem::remove_all(path());
    std::filesystem::create_directory(path());
    trace::LiveHeader header;
    header.lane_slots = 4;
    header.chunk_bytes = kChunkBytes;
    header.chunk_count = kChunks;
    header.chunk_offset = trace::kSlotsOffset + 4 * sizeof(trace::LaneSlot);
    live_.resize(header.chunk_offset + kChunks * kChunkBytes);
    std::memcpy(live_.data(), &header, sizeof header);
    begin_segment();
    define();
  }
  static std::string path() { return fuzz::scratch() + "/run"; }

  void act(fuzz::Input& in) {
    switch (in.take<std::uint8_t>() % 7) {
      case 0:
        return add_frame(in);
      case 1: {
        const auto bytes = in.bytes(in.take<std::uint8_t>());
        file_.insert(file_.end(), bytes.begin(), bytes.end());
        return save();
      }
      case 2:
        return put_chunk(in);
      case 3:
        file_.resize(file_.size() -
                     std::min<std::size_t>(file_.size(), in.take<std::uint8_t>() * 16));
        return save();
      case 4:
        if (in.take<std::uint8_t>() % 2 == 1) std::filesystem::remove(segment(0));
        segment_++;
        return begin_segment();
      case 5:
        std::filesystem::remove(path() + "/trace-1-0.live");
        return;
      default:
        return poll();
    }
  }

  void poll() {
    const Progress progress = follower_.poll();
    GENSCOPE_FUZZ_CHECK(progress.processes.size() <= 1);
    for (const Progress::Process& p : progress.processes) {
      GENSCOPE_FUZZ_CHECK(p.stage.empty() || p.stage_kind != SpanKind::none);
      GENSCOPE_FUZZ_CHECK(p.last_stage_seconds >= 0);
      GENSCOPE_FUZZ_CHECK(!p.step_seconds || (p.steps_done > 0 && *p.step_seconds >= 0));
      GENSCOPE_FUZZ_CHECK(!p.eta_seconds || (p.steps_total && *p.eta_seconds >= 0));
      GENSCOPE_FUZZ_CHECK(!p.eta_seconds || std::isfinite(*p.eta_seconds));
    }
  }

 private:
  std::string segment(int number) const {
    return path() + "/trace-1-0" + (number == 0 ? "" : "." + std::to_string(number)) + ".gst";
  }
  void save() const { fuzz::write(segment(segment_), file_); }

  void begin_segment() {
    const trace::Preamble preamble;
    file_.resize(sizeof preamble);
    std::memcpy(file_.data(), &preamble, sizeof preamble);
    const std::string json =
        std::string(R"({"trace_id":")") + kId +
        R"(","live":"trace-1-0.live","clock":"monotonic","started_monotonic_ns":1000})";
    trace::FrameHeader header;
    header.type = trace::FrameType::process;
    trace::append_frame(header, std::as_bytes(std::span(json)), file_);
    save();
  }

  // Sites 1 to 12 have the kinds 0 to 11; 1 is a key that counts steps.
  void define() {
    std::vector<std::uint64_t> words;
    for (std::uint32_t site = 1; site <= 12; ++site) {
      const std::string name = site == 1 ? "steps" : "site" + std::to_string(site);
      words.resize(words.size() + trace::kMaxMetaWords);
      std::uint64_t* const at = words.data() + words.size() - trace::kMaxMetaWords;
      const std::size_t n =
          trace::encode(trace::SiteMeta{site, static_cast<SpanKind>(site - 1), name}, at);
      words.resize(words.size() - trace::kMaxMetaWords + n);
    }
    trace::FrameHeader header;
    header.flags = trace::kFrameSnapshot;
    header.words = static_cast<std::uint32_t>(words.size());
    trace::append_frame(header, std::as_bytes(std::span(words)), file_);
    save();
  }

  void add_frame(fuzz::Input& in) {
    trace::FrameHeader header;
    const auto kind = in.take<std::uint8_t>();
    header.type = static_cast<trace::FrameType>(kind & 15);
    header.codec = static_cast<trace::Codec>(kind >> 4);
    header.flags = in.take<std::uint8_t>();
    header.lane = in.take<std::uint8_t>();
    header.seq = in.take<std::uint8_t>();
    header.open_spans = in.take<std::uint8_t>();
    header.base_tick = in.take<std::uint64_t>();
    const auto payload = in.bytes(in.take<std::uint16_t>() % 2048);
    const std::size_t open = header.open_spans * sizeof(trace::OpenSpan);
    header.words =
        static_cast<std::uint32_t>((payload.size() - std::min(open, payload.size())) / 8);
    trace::append_frame(header, payload, file_);
    save();
  }

  void put_chunk(fuzz::Input& in) {
    const std::size_t place = in.take<std::uint8_t>() % kChunks;
    ChunkBytes chunk{};
    chunk.cycle = ++cycle_;
    chunk.state = in.take<std::uint8_t>() % 4;
    chunk.lane = in.take<std::uint8_t>();
    chunk.seq = in.take<std::uint8_t>();
    chunk.base = in.take<std::uint64_t>();
    chunk.data = 0x10000;
    chunk.tail = chunk.data + in.take<std::uint16_t>() % 1024;
    std::byte* const at = live_.data() + live_.size() - (kChunks - place) * kChunkBytes;
    std::memcpy(at, &chunk, sizeof chunk);
    const auto words =
        in.bytes(std::min<std::size_t>(chunk.tail - chunk.data, kChunkBytes - sizeof chunk));
    if (!words.empty()) std::memcpy(at + sizeof chunk, words.data(), words.size());
    fuzz::write(path() + "/trace-1-0.live", live_);
  }

  store::Follower follower_{path()};
  std::vector<std::byte> file_, live_;
  int segment_ = 0;
  std::uint32_t cycle_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  RunDirectory run;
  for (int i = 0; i < 64 && in.left() > 0; ++i) run.act(in);
  run.poll();
  run.poll();
  return 0;
}
