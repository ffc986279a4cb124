// A folded chunk is a frame with kFrameFromLive: its words, packed with an empty open stack, since
// that of the live file is not known. Losses become a frame of the process lane, and a close frame
// with "folded" says that nothing else will come.
#include "trace/fold.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "base/clock.h"
#include "base/file.h"
#include "base/guest.h"
#include "base/text.h"
#include "genscope/internal/word.h"
#include "trace/frame.h"
#include "trace/meta.h"
#include "trace/pack.h"

namespace genscope::trace {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;
constexpr std::size_t kMostWords = 8192;  // of a chunk

std::string own_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// A text of the process frame. By hand: a parser may need memory even to clean up after itself, and
// this runs in programs that have none left.
std::string_view text_of(std::string_view json, std::string_view key) noexcept {
  for (std::size_t at = json.find(key); at != std::string_view::npos; at = json.find(key, at + 1)) {
    const std::size_t begin = at + key.size() + 3;
    if (at == 0 || json[at - 1] != '"' || json.substr(at + key.size(), 3) != "\":\"") continue;
    return json.substr(begin, json.find('"', begin) - begin);
  }
  return {};
}

std::uint64_t key_of(std::uint32_t lane, std::uint32_t seq) noexcept {
  return std::uint64_t{lane} << 32 | seq;
}

// What the trace has already.
struct Known {
  std::string process_json;
  std::unordered_set<std::uint64_t> chunks;
  bool closed = false;
  std::uint64_t torn_bytes = 0;  // at the end of the last segment
  std::uint64_t size = 0;        // of that segment
};

bool look_at(const std::vector<std::string>& segments, Known& known) {
  for (const std::string& path : segments) {
    const Result<base::MappedFile> file = base::MappedFile::open(path);
    if (!file.ok()) return false;
    known.closed = false;
    FrameScanner scanner(file->bytes());
    FrameView frame;
    while (scanner.next(frame)) {
      const FrameHeader& h = frame.header;
      if (h.type == FrameType::process && known.process_json.empty()) {
        known.process_json.assign(reinterpret_cast<const char*>(frame.payload.data()),
                                  frame.payload.size());
      }
      if (h.type == FrameType::close) known.closed = true;
      if (h.type == FrameType::chunk && (h.flags & kFrameSnapshot) == 0) {
        known.chunks.insert(key_of(h.lane, h.seq));
      }
    }
    known.torn_bytes = scanner.torn_bytes();
    known.size = file->bytes().size();
  }
  return true;
}

// Appends to the last segment; what it cannot finish it takes back.
class Folder {
 public:
  Folder(int live, int trace, const LiveHeader& header, const Known& known)
      : live_(live), trace_(trace), header_(header), known_(known) {}

  bool fold() {
    const base::NoWriteSignals no_signals;
    const auto whole = static_cast<off_t>(known_.size - known_.torn_bytes);
    if (::ftruncate(trace_, whole) != 0) return false;
    bool done = false;
    try {
      done = put_chunks() && put_losses() && put_close() && flush();
    } catch (...) {
      [[maybe_unused]] const int ignored = ::ftruncate(trace_, whole);
      throw;
    }
    if (!done) [[maybe_unused]]
      const int ignored = ::ftruncate(trace_, whole);
    return done;
  }

 private:
  struct Place {
    ChunkBytes head;
    std::uint64_t offset;
  };

  bool put_chunks() {
    std::vector<Place> places;
    const std::uint32_t count = header_.chunks_touched != 0
                                    ? std::min(header_.chunks_touched, header_.chunk_count)
                                    : header_.chunk_count;
    for (std::uint32_t i = 0; i < count; ++i) {
      Place place{};
      place.offset = header_.chunk_offset + std::uint64_t{i} * header_.chunk_bytes;
      if (!base::read_at(live_, place.offset, &place.head, sizeof place.head)) return false;
      if (wanted(place.head)) places.push_back(place);
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return key_of(a.head.lane, a.head.seq) < key_of(b.head.lane, b.head.seq);
    });
    for (const Place& place : places) {
      if (!put_chunk(place)) return false;
    }
    return true;
  }

  bool wanted(const ChunkBytes& head) const {
    const std::uint64_t used = head.tail - head.data;
    return head.in_use() && used > 0 && used % 8 == 0 &&
           used <= header_.chunk_bytes - sizeof(ChunkBytes) &&
           used <= kMostWords * std::uint64_t{8} && head.lane <= internal::kMaxLane &&
           head.seq <= internal::kMaxChunkSeq &&
           !known_.chunks.contains(key_of(head.lane, head.seq));
  }

  bool put_chunk(const Place& place) {
    std::vector<std::uint64_t> words((place.head.tail - place.head.data) / 8);
    if (!base::read_at(live_, place.offset + sizeof(ChunkBytes), words.data(), words.size() * 8)) {
      return false;
    }
    FrameHeader frame;
    frame.flags = kFrameFromLive;
    frame.codec = Codec::packed;
    frame.lane = place.head.lane;
    frame.seq = place.head.seq;
    frame.base_tick = place.head.base;
    frame.words = static_cast<std::uint32_t>(words.size());
    std::vector<std::byte> payload;
    OpenSpans none;
    packer_.pack(words, {internal::make_id(frame.lane, frame.seq, 0), frame.base_tick}, none,
                 payload);
    append_frame(frame, payload, pending_);
    ++chunks_;
    return pending_.size() < kFlushBytes || flush();
  }

  bool put_losses() {
    std::vector<std::uint64_t> words;
    const auto put = [&](const LossMeta& loss) {
      if (words.size() + kMaxMetaWords > kMostWords) return;
      const std::size_t at = words.size();
      words.resize(at + kMaxMetaWords);
      words.resize(at + encode(loss, words.data() + at));
    };
    if (header_.dropped_spans + header_.dropped_records > 0) {
      put({0, header_.dropped_spans, header_.dropped_records, 0, 0});
    }
    const std::uint32_t slots = header_.slots_touched != 0
                                    ? std::min(header_.slots_touched, header_.lane_slots)
                                    : header_.lane_slots;
    for (std::uint32_t i = 0; i < slots; ++i) {
      SlotBytes slot{};
      if (!base::read_at(live_, kSlotsOffset + std::uint64_t{i} * sizeof slot, &slot,
                         sizeof slot)) {
        return false;
      }
      if (slot.number == 0 || slot.dropped_spans + slot.dropped_records == 0) continue;
      put({slot.number, slot.dropped_spans, slot.dropped_records, slot.lost_first_tick,
           slot.lost_last_tick});
    }
    if (words.empty()) return true;
    FrameHeader frame;
    frame.flags = kFrameSnapshot;
    frame.words = static_cast<std::uint32_t>(words.size());
    append_frame(frame, std::as_bytes(std::span(words)), pending_);
    return true;
  }

  bool put_close() {
    std::string reason = "null";
    if (header_.stopped != 0) {
      const std::size_t n = ::strnlen(header_.reason.data(), header_.reason.size());
      reason = base::json_quote(std::string_view(header_.reason.data(), n));
    }
    const std::string json =
        "{\"stopped\":" + reason + ",\"folded\":" + std::to_string(chunks_) + "}";
    FrameHeader frame;
    frame.type = FrameType::close;
    append_frame(frame, std::as_bytes(std::span(json)), pending_);
    return true;
  }

  bool flush() {
    if (base::write_all(trace_, pending_.data(), pending_.size()) != 0) return false;
    pending_.clear();
    return true;
  }

  int live_, trace_;
  const LiveHeader& header_;
  const Known& known_;
  Packer packer_;
  std::vector<std::byte> pending_;
  std::uint64_t chunks_ = 0;
};

// The live file, if its process is gone: with a lock that keeps others from thinking it is back.
base::UniqueFd open_left_behind(const std::string& path, LiveHeader& header) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) return {};
  if (!base::read_at(fd.get(), 0, &header, sizeof header)) return {};
  if (!usable(header, static_cast<std::uint64_t>(info.st_size))) return {};
  const bool may_live = header.lock_by_descriptor != 0 &&
                        (::kill(static_cast<pid_t>(header.pid), 0) == 0 || errno != ESRCH);
  return may_live ? base::UniqueFd() : std::move(fd);
}

std::string text_in(const std::array<char, 2048>& bytes) {
  return {bytes.data(), ::strnlen(bytes.data(), bytes.size())};
}

}  // namespace

bool usable(const LiveHeader& header, std::uint64_t size) noexcept {
  const LiveHeader wanted;
  if (header.magic != wanted.magic || header.version != wanted.version) return false;
  const std::uint64_t slots_end =
      kSlotsOffset + std::uint64_t{header.lane_slots} * sizeof(LaneSlot);
  return header.chunk_bytes >= sizeof(ChunkBytes) && header.chunk_bytes <= (1 << 20) &&
         header.chunk_bytes % 8 == 0 && slots_end <= size && header.chunk_offset >= slots_end &&
         header.chunk_offset <= size &&
         header.chunk_count <= (size - header.chunk_offset) / header.chunk_bytes;
}

bool fold_live(const std::string& live_path, const std::vector<std::string>& segments) {
  if (segments.empty()) return false;
  LiveHeader header;
  const base::UniqueFd live = open_left_behind(live_path, header);
  if (!live.valid()) return false;
  const base::UniqueFd trace(
      ::open(segments.back().c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!trace.valid() || ::flock(trace.get(), LOCK_EX | LOCK_NB) != 0) return false;
  // Another may have done it before we had the lock.
  struct stat ours {
  }, there{};
  if (::fstat(live.get(), &ours) != 0 || ::lstat(live_path.c_str(), &there) != 0 ||
      ours.st_ino != there.st_ino || ours.st_dev != there.st_dev) {
    return false;
  }
  Known known;
  if (!look_at(segments, known)) return false;
  if (text_of(known.process_json, "trace_id") != base::hex(header.trace_id) ||
      text_of(known.process_json, "host") != own_host()) {
    return false;
  }
  // Closed, and killed before the live file was removed: nothing is missing.
  if (!known.closed && !Folder(live.get(), trace.get(), header, known).fold()) return false;
  return ::unlink(live_path.c_str()) == 0;
}

std::size_t fold_quickly(const std::string& folder, const std::string& run_dir,
                         std::uint64_t max_trace_bytes, std::int64_t until_ns) {
  std::size_t folded = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(folder.c_str()), ::closedir);
  if (!names) return 0;
  while (const dirent* const entry = ::readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(".live")) continue;
    if (!name.starts_with("trace-") && !name.starts_with("genscope-")) continue;
    if (base::monotonic_ns() > until_ns) break;
    const std::string live_path = folder + "/" + std::string(name);
    LiveHeader header;
    if (!open_left_behind(live_path, header).valid()) continue;
    const std::string trace_path = text_in(header.trace_path);
    struct stat info {};
    if (!trace_path.starts_with(run_dir + "/") || ::stat(trace_path.c_str(), &info) != 0 ||
        static_cast<std::uint64_t>(info.st_size) > max_trace_bytes) {
      continue;
    }
    const std::string next = trace_path.substr(0, trace_path.rfind('.')) + ".1.gst";
    if (::access(next.c_str(), F_OK) == 0) continue;
    folded += fold_live(live_path, {trace_path}) ? 1 : 0;
  }
  return folded;
}

}  // namespace genscope::trace
