// A poll costs what was recorded since the last one. Files are read from where the last poll
// stopped (FrameTail), and the live buffer is asked only for the words that Activity does not know
// yet.
//
// Order within a poll: copy the live buffer, take its definitions, take those of its chunks that go
// on where their lane is, then the new frames of the files, then the rest of the live buffer. A
// chunk that is drained meanwhile is then found in the file, and none is taken twice, because
// Activity knows how many words of it it has.
//
// A name is defined before it is used, but on another lane: a word may be seen before its name was
// copied. look_up() then copies the process lane once more, at most once for all that was read at
// one time, and if that does not help looks ahead in the file.
#include "store/trace_follower.h"

#include <algorithm>

#include "base/json.h"
#include "store/definitions.h"
#include "store/recorded.h"

namespace genscope::store {
namespace {

// Before that, the rate that the recorder measured is better.
constexpr double kMinApartNs = 50e6;

}  // namespace

TraceFollower::TraceFollower(std::string folder)
    : folder_(std::move(folder)),
      clock_({}, 1e9),
      sites_([this](std::uint32_t site) { look_up(site); }),
      activity_(sites_, clock_) {}

void TraceFollower::poll(const std::map<unsigned, std::string>& segments,
                         std::vector<std::byte>& scratch) {
  if (closed_) return;
  segments_ = &segments;
  peeked_ = false;
  // The first frame says where the live buffer is, which is read before the rest of the file: what
  // is drained meanwhile is then found there.
  if (!identified()) find_header(segments, scratch);
  if (!identified()) return;
  const std::optional<LiveContent> live = copy_live(Lanes::all);
  if (!unseen_) in_use_ = live && live->in_use;
  if (header_.elsewhere) in_use_ = lately_written(segments.rbegin()->second);
  fresh_ = false;
  if (live) {
    live_definitions(*live);
    // Before the file, so that a span is known when other threads' chunks speak of it.
    live_lanes(*live, true);
  }
  read_files(segments, scratch);
  if (live) live_lanes(*live, false);
}

void TraceFollower::find_header(const std::map<unsigned, std::string>& segments,
                                std::vector<std::byte>& scratch) {
  for (const auto& [number, path] : segments) {
    FrameTail(path).read(scratch, [this](const trace::FrameView& f) {
      if (f.header.type == trace::FrameType::process) identify(f.payload);
      return !identified();
    });
    if (identified()) return;
  }
}

void TraceFollower::read_files(const std::map<unsigned, std::string>& segments,
                               std::vector<std::byte>& scratch) {
  for (const auto& [number, path] : segments) {
    if (file_ && number < segment_) continue;
    if (!file_ || number != segment_) {
      if (file_) file_bytes_ += file_->bytes_read();
      file_.emplace(path);
      segment_ = number;
    }
    file_->read(scratch, [this](const trace::FrameView& f) {
      frame(f);
      return true;
    });
  }
}

void TraceFollower::frame(const trace::FrameView& f) {
  if (file_->reads() != reads_) fresh_ = false;
  reads_ = file_->reads();
  switch (f.header.type) {
    case trace::FrameType::process:
      break;
    case trace::FrameType::close:
      closed_ = true;
      break;
    case trace::FrameType::chunk: {
      const std::optional<Chunk> chunk = chunk_of(f);
      if (!chunk) break;
      const bool snapshot = chunk->lane == 0 && (f.header.flags & trace::kFrameSnapshot) != 0;
      if (chunk->lane != 0 && activity_.known_words(chunk->lane, chunk->seq) == kNotWanted) break;
      const auto words = words_of(*chunk, unpacker_, open_);
      if (!words.ok()) break;
      if (snapshot) {
        std::uint64_t ignored = 0;
        for_each_meta(*words, ignored, [this](const trace::Meta& meta) { define(meta); });
      } else if (chunk->lane == 0) {
        definitions(*chunk, *words);
      } else {
        activity_.take(*chunk, *words, open_);
      }
      break;
    }
  }
}

void TraceFollower::identify(std::span<const std::byte> payload) {
  const base::JsonObject json(
      std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size()));
  header_.trace_id = json.text("trace_id");
  header_.host = json.text("host");
  header_.live = json.text("live");
  header_.pid = static_cast<std::uint32_t>(json.natural("pid"));
  const std::string boot_id = json.text("boot_id");
  header_.process_key = header_.host + "/" + boot_id + "/" + std::to_string(header_.pid);
  header_.elsewhere = is_elsewhere(header_.host, boot_id);
  header_.started.ticks = json.natural("started_ticks");
  header_.started.monotonic_ns = json.integer("started_monotonic_ns");
  header_.started.realtime_ns = json.integer("started_unix_ns");
  header_.ticks_per_second = json.number("ticks_per_second", 1e9);
  if (json.has("rank")) header_.rank = static_cast<int>(json.integer("rank"));
  latest_ = header_.started;
  clock_ = ClockMap({header_.started}, header_.ticks_per_second);
}

// Words of the process lane, each record once: losses add up.
void TraceFollower::definitions(const Chunk& chunk, std::span<const std::uint64_t> words) {
  std::uint32_t& taken = defined_[chunk.seq];
  if (chunk.first_word > taken) return;
  const std::size_t skip = taken - chunk.first_word;
  if (skip >= words.size()) return;
  std::uint64_t ignored = 0;
  for_each_meta(words.subspan(skip), ignored, [this](const trace::Meta& meta) { define(meta); });
  taken = static_cast<std::uint32_t>(chunk.first_word + words.size());
}

void TraceFollower::define(const trace::Meta& meta) {
  if (const auto* site = std::get_if<trace::SiteMeta>(&meta)) {
    sites_.define(site->id, site->kind, site->name);
  } else if (const auto* clock = std::get_if<trace::ClockMeta>(&meta)) {
    // The first and the latest are enough: a clock's rate hardly changes, and the map stays small.
    if (clock->ticks <= latest_.ticks) return;
    const double apart_ns = static_cast<double>(clock->monotonic_ns) -
                            static_cast<double>(header_.started.monotonic_ns);
    if (apart_ns < kMinApartNs) return;
    latest_ = *clock;
    clock_ = ClockMap({header_.started, latest_}, header_.ticks_per_second);
  } else if (const auto* loss = std::get_if<trace::LossMeta>(&meta)) {
    dropped_spans_ += loss->spans;
  }
}

std::optional<LiveContent> TraceFollower::copy_live(Lanes lanes) {
  if (!identified() || header_.live.empty()) return std::nullopt;
  const std::string path =
      header_.live.find('/') == std::string::npos ? folder_ + "/" + header_.live : header_.live;
  Result<LiveContent> live =
      read_live(path, header_.trace_id, [&](std::uint32_t lane, std::uint32_t seq) {
        if (lane != 0) return lanes == Lanes::all ? activity_.known_words(lane, seq) : kNotWanted;
        const auto it = defined_.find(seq);
        return it != defined_.end() ? it->second : 0u;
      });
  unseen_ = !live.ok() && live.error().code == ErrorCode::io;
  if (!live.ok()) return std::nullopt;
  live_bytes_ += live->bytes_read;
  live_dropped_spans_ = 0;
  for (const LiveContent::Loss& loss : live->losses) live_dropped_spans_ += loss.spans;
  return std::move(*live);
}

void TraceFollower::live_definitions(const LiveContent& live) {
  for (std::size_t i = 0; i < live.chunks.size(); ++i) {
    if (live.chunks[i].lane == 0) definitions(live.chunks[i], live.words[i]);
  }
}

// Chunks lie in any order; those of a lane are taken by their numbers. `in_order`: only those that
// go on where their lane is.
void TraceFollower::live_lanes(const LiveContent& live, bool in_order) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < live.chunks.size(); ++i) {
    if (live.chunks[i].lane != 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Chunk &x = live.chunks[a], &y = live.chunks[b];
    return std::pair(x.lane, x.seq) < std::pair(y.lane, y.seq);
  });
  for (const std::size_t i : order) {
    if (in_order && !activity_.follows(live.chunks[i])) continue;
    activity_.take(live.chunks[i], live.words[i], {});
  }
}

// A name that we do not know may have been defined after our copy of the process lane: copied
// again once for all that was read at one time, since a name is defined before it is used. Or its
// definition was drained, and lies further on in the file.
void TraceFollower::look_up(std::uint32_t site) {
  if (!fresh_ && in_use_) {
    fresh_ = true;
    if (const auto live = copy_live(Lanes::process_only)) live_definitions(*live);
  }
  if (!peeked_ && !sites_.has(site)) {
    peeked_ = true;
    peek_definitions();
  }
}

void TraceFollower::peek_definitions() {
  std::vector<std::byte> scratch;
  trace::Unpacker unpacker;
  std::vector<trace::OpenSpan> open;
  const auto look = [&](const trace::FrameView& f) {
    if (f.header.type != trace::FrameType::chunk || f.header.lane != 0) return true;
    const std::optional<Chunk> chunk = chunk_of(f);
    if (!chunk) return true;
    const auto words = words_of(*chunk, unpacker, open);
    std::uint64_t ignored = 0;
    if (!words.ok()) return true;
    for_each_meta(*words, ignored, [&](const trace::Meta& meta) {
      const auto* const site = std::get_if<trace::SiteMeta>(&meta);
      if (site != nullptr) sites_.define(site->id, site->kind, site->name);
    });
    return true;
  };
  for (const auto& [number, path] : *segments_) {
    if (file_ && number < segment_) continue;
    FrameTail ahead = file_ && number == segment_ ? *file_ : FrameTail(path);
    const std::uint64_t before = ahead.bytes_read();
    ahead.look_again();
    ahead.read(scratch, look);
    file_bytes_ += ahead.bytes_read() - before;
  }
}

std::uint64_t TraceFollower::bytes_read() const noexcept {
  return live_bytes_ + file_bytes_ + (file_ ? file_->bytes_read() : 0);
}

Progress::Process TraceFollower::progress() const {
  Progress::Process out;
  out.pid = header_.pid;
  out.alive = !closed_ && in_use_;
  if (!closed_) activity_.describe_open(out);
  activity_.describe_last(out);
  activity_.describe_values(out);
  out.rank = header_.rank;
  out.dropped_spans =
      dropped_spans_ + activity_.dropped_spans() + (closed_ ? 0 : live_dropped_spans_);
  return out;
}

}  // namespace genscope::store
