#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "base/file.h"
#include "base/text.h"
#include "genscope/internal/word.h"
#include "store/chunks.h"
#include "store/recorded.h"
#include "trace/fold.h"
#include "trace/live.h"

namespace genscope::store {
namespace {

using trace::ChunkBytes;
using trace::SlotBytes;

// Drops that no chunk tells of yet.
void read_slots(int fd, std::uint32_t count, LiveContent& content) {
  std::vector<SlotBytes> block(1024);
  for (std::uint32_t done = 0; done < count;) {
    const std::size_t n = std::min<std::size_t>(block.size(), count - done);
    const std::uint64_t at = trace::kSlotsOffset + std::uint64_t{done} * sizeof(SlotBytes);
    if (!base::read_at(fd, at, block.data(), n * sizeof(SlotBytes))) return;
    content.bytes_read += n * sizeof(SlotBytes);
    for (std::size_t i = 0; i < n; ++i) {
      const SlotBytes& slot = block[i];
      if (slot.number == 0 || slot.dropped_spans + slot.dropped_records == 0) continue;
      content.losses.push_back({slot.number, slot.dropped_spans, slot.dropped_records,
                                slot.lost_first_tick, slot.lost_last_tick});
    }
    done += static_cast<std::uint32_t>(n);
  }
}

}  // namespace

Result<LiveContent> read_live(const std::string& path, const std::string& trace_id,
                              const KnownWords& known) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return base::errno_error("cannot open", path, errno);
  const auto bad = [&](const char* what) {
    return Error{ErrorCode::bad_data, path + " is not a usable live buffer: " + what};
  };
  struct stat info {};
  trace::LiveHeader header;
  const trace::LiveHeader wanted;
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return bad("not a regular file");
  if (!base::read_at(fd.get(), 0, &header, sizeof header)) return bad("too short");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (header.magic != wanted.magic || header.version != wanted.version) {
    return bad("unknown format");
  }
  if (base::hex(header.trace_id) != trace_id) return bad("it belongs to another trace");
  if (!trace::usable(header, size)) return bad("sizes do not fit the file");
  LiveContent content;
  // The recorder holds an exclusive lock for as long as it lives, and has not called exec.
  content.in_use = lock_is_held(fd.get());
  if (header.stopped != 0) {
    content.stopped.assign(header.reason.data(),
                           ::strnlen(header.reason.data(), header.reason.size()));
  }
  if (header.dropped_spans + header.dropped_records > 0) {
    content.losses.push_back({0, header.dropped_spans, header.dropped_records, 0, 0});
  }
  const auto touched = [](std::uint32_t said, std::uint32_t all) {
    return said != 0 ? std::min(said, all) : all;
  };
  read_slots(fd.get(), touched(header.slots_touched, header.lane_slots), content);
  const std::uint64_t capacity = header.chunk_bytes - sizeof(ChunkBytes);
  const auto place = [&](std::uint32_t i) {
    return header.chunk_offset + std::uint64_t{i} * header.chunk_bytes;
  };
  // How far each lane is now. A thread that writes on while we copy may open later chunks in
  // places that we have passed and in places that we have not: those are for the next reading.
  std::unordered_map<std::uint32_t, std::uint32_t> newest;
  std::vector<std::uint32_t> used_places;
  const std::uint32_t chunk_count = touched(header.chunks_touched, header.chunk_count);
  for (std::uint32_t i = 0; i < chunk_count; ++i) {
    ChunkBytes chunk{};
    if (!base::read_at(fd.get(), place(i), &chunk, sizeof chunk)) break;
    if (!chunk.in_use()) continue;
    used_places.push_back(i);
    std::uint32_t& seq = newest[chunk.lane];
    seq = std::max(seq, chunk.seq);
  }
  content.bytes_read += std::uint64_t{chunk_count} * sizeof(ChunkBytes);
  for (const std::uint32_t i : used_places) {
    const std::uint64_t at = place(i);
    ChunkBytes before{}, after{};
    if (!base::read_at(fd.get(), at, &before, sizeof before)) break;
    const auto last = newest.find(before.lane);
    if (!before.in_use() || last == newest.end() || before.seq > last->second) continue;
    const std::uint64_t used = before.tail - before.data;
    if (used == 0 || used > capacity || used % 8 != 0 || before.lane > internal::kMaxLane ||
        before.seq > internal::kMaxChunkSeq) {
      continue;
    }
    const std::uint64_t first = known ? known(before.lane, before.seq) : 0;
    const bool news =
        first < used / 8 || (first == used / 8 && before.state == ChunkBytes::kFilled);
    if (!news) continue;
    std::vector<std::uint64_t> words(used / 8 - first);
    if (!base::read_at(fd.get(), at + sizeof before + first * 8, words.data(), words.size() * 8) ||
        !base::read_at(fd.get(), at, &after, sizeof after)) {
      break;
    }
    content.bytes_read += words.size() * 8;
    const bool same = after.cycle == before.cycle && after.lane == before.lane &&
                      after.seq == before.seq && after.state != 0;
    if (!same) continue;
    content.words.push_back(std::move(words));
    Chunk chunk;
    chunk.lane = before.lane;
    chunk.seq = before.seq;
    chunk.base_tick = before.base;
    chunk.words = static_cast<std::uint32_t>(used / 8);
    chunk.from_live = true;
    chunk.still_open = before.state == ChunkBytes::kOpen;
    chunk.first_word = static_cast<std::uint32_t>(first);
    content.chunks.push_back(chunk);
  }
  for (std::size_t i = 0; i < content.chunks.size(); ++i) {
    content.chunks[i].payload = std::as_bytes(std::span(content.words[i]));
  }
  return content;
}

}  // namespace genscope::store
