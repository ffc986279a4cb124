// The chunks of a trace, each once, while its process may be writing.
//
// The live buffer is copied before the files are read. A chunk moves one way, from the live buffer
// to the file, so one that is drained between the two looks is seen twice and never not at all;
// order() sorts by lane and number and keeps the file's copy. The other way round it could fall
// between.
//
// A live buffer whose process is gone without a close is folded into the trace first, by whoever
// reads it first and may write there; the next reader finds an ordinary file. What is wrong with a
// frame is counted and skipped: only a file of which nothing can be used is an error.
#include "store/chunks.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include "base/json.h"
#include "genscope/internal/word.h"
#include "trace/fold.h"

namespace genscope::store {
namespace {

constexpr std::uint32_t kMaxChunkWords = 8192;
constexpr std::uint32_t kSnapshotLane = 0xFFFFFFFF;

std::string text_in(const std::string& json_text, const char* key) {
  return base::JsonObject(json_text).text(key);
}

bool usable(const trace::FrameHeader& h, std::size_t payload_bytes) {
  const std::uint64_t open_bytes = std::uint64_t{h.open_spans} * sizeof(trace::OpenSpan);
  if (h.words > kMaxChunkWords || open_bytes > payload_bytes || h.lane > internal::kMaxLane ||
      h.seq > internal::kMaxChunkSeq) {
    return false;
  }
  if (h.codec == trace::Codec::raw) return payload_bytes - open_bytes == std::uint64_t{h.words} * 8;
  return h.codec == trace::Codec::packed;
}

}  // namespace

std::optional<Chunk> chunk_of(const trace::FrameView& frame) {
  const trace::FrameHeader& h = frame.header;
  if (!usable(h, frame.payload.size())) return std::nullopt;
  Chunk chunk;
  chunk.lane = h.lane;
  chunk.seq = h.seq;
  chunk.base_tick = h.base_tick;
  chunk.words = h.words;
  chunk.codec = h.codec;
  chunk.open_spans = h.open_spans;
  chunk.payload = frame.payload;
  chunk.from_live = (h.flags & trace::kFrameFromLive) != 0;
  return chunk;
}

namespace {

// The process frame, found before anything else is read: it says where the live buffer is.
std::string first_process_json(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    auto file = base::MappedFile::open(path);
    if (!file.ok()) continue;
    trace::FrameScanner scanner(file->bytes());
    trace::FrameView frame;
    while (scanner.next(frame)) {
      if (frame.header.type != trace::FrameType::process) continue;
      return {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()};
    }
  }
  return {};
}

Status check_preamble(const std::string& path, std::span<const std::byte> bytes) {
  trace::Preamble preamble;
  const trace::Preamble wanted;
  if (bytes.size() < sizeof preamble) {
    return Error{ErrorCode::bad_data, path + " is too short to be a genscope trace (" +
                                          std::to_string(bytes.size()) + " bytes)"};
  }
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (preamble.magic != wanted.magic) {
    return Error{ErrorCode::bad_data, path +
                                          " is not a genscope trace: it does not start with "
                                          "GENSCOPE"};
  }
  if (preamble.version > wanted.version) {
    return Error{ErrorCode::unsupported,
                 path + " has trace format " + std::to_string(preamble.version) +
                     ", this genscope reads up to " + std::to_string(wanted.version) +
                     ": use a newer genscope"};
  }
  return Done{};
}

void take_close(const std::string& text, TraceBytes& out) {
  const base::JsonObject json(text);
  out.folded = json.has("folded");
  out.closed = !out.folded;
  out.stopped = json.text("stopped");
}

void scan(std::span<const std::byte> bytes, TraceBytes& out) {
  trace::FrameScanner scanner(bytes);
  trace::FrameView frame;
  out.closed = out.folded = false;  // only the last segment's end counts
  while (scanner.next(frame)) {
    switch (frame.header.type) {
      case trace::FrameType::chunk:
        if (std::optional<Chunk> chunk = chunk_of(frame); !chunk) {
          out.integrity.bad_frames++;
          out.integrity.bad_bytes += frame.payload.size();
        } else if (chunk->lane == 0) {
          // Not a numbered chunk, so not a duplicate of one; definitions may come in any order.
          if ((frame.header.flags & trace::kFrameSnapshot) != 0) chunk->lane = kSnapshotLane;
          out.process_lane.push_back(*chunk);
        } else {
          out.lanes.push_back(*chunk);
        }
        break;
      case trace::FrameType::close:
        take_close({reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()},
                   out);
        break;
      case trace::FrameType::process:
        break;
    }
  }
  out.integrity.bad_frames += scanner.bad_frames();
  out.integrity.bad_bytes += scanner.bad_bytes();
  // A frame that was being written when we looked, or when the process died, is still in the live
  // buffer: no damage.
  if (scanner.torn_tail() && out.live) {
    out.integrity.bad_frames--;
    out.integrity.bad_bytes -= scanner.torn_bytes();
  }
}

// Sorts, and drops what the live buffer has of chunks that are in a file.
void order(std::vector<Chunk>& chunks) {
  const auto key = [](const Chunk& c) { return std::tuple(c.lane, c.seq, c.from_live, ~c.words); };
  std::stable_sort(chunks.begin(), chunks.end(),
                   [&](const Chunk& a, const Chunk& b) { return key(a) < key(b); });
  const auto same = [](const Chunk& a, const Chunk& b) {
    return a.lane == b.lane && a.seq == b.seq && a.lane != kSnapshotLane;
  };
  chunks.erase(std::unique(chunks.begin(), chunks.end(), same), chunks.end());
}

}  // namespace

namespace {

// A process that is gone without a close: its buffers go into its trace, where that is allowed.
void fold(const std::string& live, const std::vector<std::string>& paths) {
  if (::access(live.c_str(), F_OK) != 0) return;
  try {
    trace::fold_live(live, paths);
  } catch (const std::bad_alloc&) {
    // Then they are read where they are.
  }
}

}  // namespace

Result<TraceBytes> read_bytes(const std::vector<std::string>& paths) {
  TraceBytes out;
  out.process_json = first_process_json(paths);
  // The live buffer first: what is drained meanwhile is then found in the file.
  std::string live = text_in(out.process_json, "live");
  if (!live.empty()) {
    const std::filesystem::path folder = std::filesystem::path(paths[0]).parent_path();
    if (live.find('/') == std::string::npos) live = (folder / live).string();
    fold(live, paths);
    auto content = read_live(live, text_in(out.process_json, "trace_id"));
    if (content.ok()) out.live = std::move(*content);
  }
  for (const std::string& path : paths) {
    auto file = base::MappedFile::open(path);
    // A flight recorder may have deleted its oldest segment since we listed them.
    const bool gone = !file.ok() && file.error().code == ErrorCode::not_found;
    if (gone && &path != &paths.back()) continue;
    if (!file.ok()) return file.error();
    // Or made its next one a moment ago and not written to it yet.
    if (file->bytes().empty() && paths.size() > 1) continue;
    if (Status good = check_preamble(path, file->bytes()); !good.ok()) return good.error();
    out.bytes += file->bytes().size();
    scan(file->bytes(), out);
    out.files.push_back(std::move(*file));
  }
  if (out.closed || out.folded) out.live.reset();
  if (out.live && out.stopped.empty()) out.stopped = out.live->stopped;
  if (out.live) {
    for (const Chunk& chunk : out.live->chunks) {
      (chunk.lane == 0 ? out.process_lane : out.lanes).push_back(chunk);
    }
  }
  order(out.process_lane);
  order(out.lanes);
  for (const auto* list : {&out.process_lane, &out.lanes}) {
    out.integrity.recovered_chunks += static_cast<std::uint64_t>(
        std::count_if(list->begin(), list->end(), [](const Chunk& c) { return c.from_live; }));
  }
  out.integrity.closed = out.closed;
  return out;
}

}  // namespace genscope::store
