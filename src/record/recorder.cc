// Opening does everything that can fail or throw before anything is visible to other threads, and
// takes it back if it did. What happens later neither fails nor throws: it drops and counts.
//
// A thread that finds no free chunk waits for the drain thread to make one, 20 ms at most, and all
// threads of a process together a third of a second in its whole life: enough for a burst, too
// little for anybody to notice. The process lane has a spare chunk, so that clocks and losses can
// be written when all others are taken.
#include "record/recorder.h"

#include <linux/futex.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/file.h"
#include "base/guest.h"
#include "genscope/version.h"
#include "record/control.h"
#include "record/drain.h"
#include "record/names.h"
#include "record/process_info.h"
#include "trace/fold.h"

namespace genscope::record {
namespace {

constexpr std::uint32_t kProcessLane = 0;
// A session has room for a burst before its buffers can grow; who may record little has the least.
constexpr std::uint32_t kSessionChunks = 64, kSmallChunks = 4;
constexpr std::int64_t kLongestWaitNs = 20'000'000, kPatienceNs = 300'000'000;
constexpr std::uint32_t kSmallSlots = 192;  // 16 KiB with the header
// Faulted in before the first span; the drain thread adds more.
constexpr std::uint32_t kFirstChunks = 4;

// Where the live file goes: a mapping over a network would be slow, or not even coherent.
std::string live_folder(const std::string& run_dir, const SessionOptions& options) {
  if (!options.buffer_dir.empty()) return options.buffer_dir;
  if (const char* dir = std::getenv("GENSCOPE_BUFFER_DIR"); dir != nullptr && *dir != '\0') {
    return dir;
  }
  if (!base::on_network_file_system(run_dir)) return run_dir;
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

bool choose_cpu_ticks(const SessionOptions& options) {
  if (!internal::kHasFastTicks || options.clock == ClockChoice::os) return false;
  const char* forced = std::getenv("GENSCOPE_CLOCK");
  if (forced != nullptr && std::strcmp(forced, "os") == 0) return false;
  return base::cpu_ticks_trusted();
}

}  // namespace

void open_chunk(ChunkHeader* chunk, std::uint32_t lane, std::uint32_t seq,
                std::uint64_t base_tick) noexcept {
  constexpr auto kAnyOrder = std::memory_order_relaxed;
  const std::uint64_t data = internal::address(words_of(chunk));
  chunk->cycle.store(chunk->cycle.load(kAnyOrder) + 1, std::memory_order_release);
  chunk->data.store(data, kAnyOrder);
  chunk->tail.store(data, kAnyOrder);
  chunk->base.store(base_tick, kAnyOrder);
  chunk->lane.store(lane, kAnyOrder);
  chunk->seq.store(seq, kAnyOrder);
  chunk->last = 0;
  chunk->state.store(static_cast<std::uint32_t>(ChunkState::open), std::memory_order_release);
}

Recorder::~Recorder() = default;

Result<Recorder*> Recorder::open(const std::string& run_dir, const SessionOptions& options,
                                 std::uint32_t first_lane, bool small) {
  const base::NoWriteSignals no_signals;
  std::unique_ptr<Recorder> r(new Recorder);
  r->run_dir_ = run_dir;
  r->folder_ = base::absolute_path(run_dir);
  r->options_ = options;
  r->first_lane_ = first_lane;
  if (::getrandom(r->trace_id_.data(), r->trace_id_.size(), 0) < 0) {
    const std::uint64_t now = static_cast<std::uint64_t>(base::realtime_ns());
    std::memcpy(r->trace_id_.data(), &now, sizeof now);
  }
  r->use_cpu_ticks_ = choose_cpu_ticks(options);
  if (r->use_cpu_ticks_) r->ticks_per_second_ = base::measure_tick_rate(200'000);

  // The first free number: a process may record several traces into one run, and a pid may
  // come back.
  const std::string stem = r->folder_ + "/trace-" + std::to_string(::getpid()) + "-";
  std::string base_name;
  for (int i = 0; r->file_ == nullptr; ++i) {
    base_name = stem + std::to_string(i);
    auto file = TraceFile::create(base_name + ".gst", {options.max_trace_bytes, options.when_full});
    if (file.ok()) {
      r->file_ = std::make_unique<TraceFile>(std::move(*file));
    } else if (::access((base_name + ".gst").c_str(), F_OK) != 0 || i >= 10'000) {
      return file.error();
    }
  }
  const std::string folder = base::absolute_path(live_folder(r->folder_, options));
  const std::string live_path = folder == r->folder_
                                    ? base_name + ".live"
                                    : folder + "/genscope-" + base::hex(r->trace_id_) + ".live";
  // From here on nothing may be left behind, whatever fails.
  try {
    LiveSize size{options.buffer_bytes, kSessionChunks, trace::kLaneSlots};
    if (small) size = {options.buffer_bytes, kSmallChunks, kSmallSlots};
    auto live = make_live_buffer(live_path, size);
    if (!live.ok()) {
      ::unlink(r->file_->path().c_str());
      return live.error();
    }
    r->live_ = std::move(*live);
    r->write_first_frames();
  } catch (...) {
    r->abandon();
    throw;
  }
  return r.release();
}

void Recorder::write_first_frames() {
  trace::LiveHeader& header = *live_.header();
  header.trace_id = trace_id_;
  header.pid = static_cast<std::uint32_t>(::getpid());
  const std::string& path = file_->path();
  if (path.size() < header.trace_path.size()) {
    std::memcpy(header.trace_path.data(), path.data(), path.size());
  }
  slot_count_.store(live_.slot_count);
  may_grow_.store(live_.chunk_count < live_.max_chunks);
  patience_ns_.store(kPatienceNs);
  pool_.init(live_.chunks(), live_.chunk_count, header.chunks_touched);
  pool_.prefault(kFirstChunks);
  spare_.store(pool_.pop());
  started_ = base::take_snapshot(use_cpu_ticks_);
  const std::string json = process_json(0);
  trace::FrameHeader process;
  process.type = trace::FrameType::process;
  file_->append(process, std::as_bytes(std::span(json)));
  drain_ = std::make_unique<Drain>(*this);
}

Status Recorder::start() {
  append_definitions();
  if (const int error = file_->write(); error != 0) {
    return base::errno_error("cannot write", file_->path(), error);
  }
  put(started_);
  if (const int error = drain_->start(); error != 0) {
    return Error{ErrorCode::io, std::string("cannot start a thread, or open its files: ") +
                                    base::error_text(error)};
  }
  return Done{};
}

void Recorder::abandon() noexcept {
  if (file_) {
    file_->close();
    ::unlink(file_->path().c_str());
  }
  if (live_.base == nullptr) return;
  ::unlink(live_.path.c_str());
  retire(live_);
}

void Recorder::fold_children(std::int64_t until_ns) {
  constexpr std::uint64_t kLargest = 16 << 20;  // of a trace that is read for it
  const std::string place = live_.path.substr(0, live_.path.rfind('/'));
  trace::fold_quickly(place, folder_, kLargest, until_ns);
}

void Recorder::hurry() noexcept { drain_->hurry(); }

void Recorder::hand_over(ChunkHeader* chunk) noexcept {
  pool_.fill(chunk);
  drain_->filled();
}

void Recorder::grown(bool more_to_come) noexcept {
  may_grow_.store(more_to_come, std::memory_order_relaxed);
  growths_.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &growths_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// A burst has used up the chunks faster than the drain thread could make more. To wait for a moment
// is better than to lose spans; but only so long, and in all of a process's life not much longer.
ChunkHeader* Recorder::wait_for_growth() noexcept {
  const std::int64_t began = base::monotonic_ns();
  ChunkHeader* chunk = nullptr;
  std::int64_t waited = 0;
  while (chunk == nullptr) {
    const std::uint32_t seen = growths_.load(std::memory_order_acquire);
    chunk = pool_.pop();
    const std::int64_t left =
        std::min(kLongestWaitNs, patience_ns_.load(std::memory_order_relaxed)) - waited;
    if (chunk != nullptr || left <= 0 || !may_grow_.load(std::memory_order_relaxed)) break;
    const timespec pause{0, static_cast<long>(left)};
    ::syscall(SYS_futex, &growths_, FUTEX_WAIT_PRIVATE, seen, &pause, nullptr, 0);
    waited = base::monotonic_ns() - began;
  }
  patience_ns_.fetch_sub(waited, std::memory_order_relaxed);
  return chunk;
}

void Recorder::stop(std::string_view reason) noexcept {
  note_stop(live_, reason);
  stopped_.store(true);
}

void Recorder::add_losses(std::uint64_t spans, std::uint64_t records) noexcept {
  trace::LiveHeader& header = *live_.header();
  std::atomic_ref(header.dropped_spans).fetch_add(spans, std::memory_order_relaxed);
  std::atomic_ref(header.dropped_records).fetch_add(records, std::memory_order_relaxed);
}

void Recorder::put_losses() noexcept {
  if (drain_->incomplete()) return;
  trace::LiveHeader& header = *live_.header();
  const std::uint64_t spans = std::atomic_ref(header.dropped_spans).exchange(0);
  const std::uint64_t records = std::atomic_ref(header.dropped_records).exchange(0);
  if (spans + records == 0) return;
  if (!put(trace::LossMeta{0, spans, records, 0, 0})) add_losses(spans, records);
}

void Recorder::append_definitions() {
  std::vector<std::uint64_t> words;
  std::uint32_t part = 0;
  const auto flush = [&] {
    if (words.empty()) return;
    trace::FrameHeader header;
    header.type = trace::FrameType::chunk;
    header.flags = trace::kFrameSnapshot;
    header.lane = kProcessLane;
    header.seq = part++;
    header.words = static_cast<std::uint32_t>(words.size());
    file_->append(header, std::as_bytes(std::span(words)));
    words.clear();
  };
  const auto add = [&](const trace::Meta& meta) {
    if (words.size() + trace::kMaxMetaWords > internal::kChunkWords) flush();
    const std::size_t at = words.size();
    words.resize(at + trace::kMaxMetaWords);
    words.resize(at + trace::encode(meta, words.data() + at));
  };
  NameTable::instance().for_each([&](const NameEntry& entry) {
    add(trace::SiteMeta{entry.id, entry.kind(), entry.text});
  });
  {
    const std::lock_guard lock(process_mutex_);
    for (const ThreadName& t : threads_) add(trace::ThreadMeta{t.lane, t.tid, t.name});
  }
  add(base::take_snapshot(use_cpu_ticks_));
  flush();
}

ChunkHeader* Recorder::take_for_process_lane() noexcept {
  ChunkHeader* const chunk = pool_.pop();
  return chunk != nullptr ? chunk : spare_.exchange(nullptr);
}

void Recorder::recycle(ChunkHeader* chunk) noexcept {
  chunk->state.store(static_cast<std::uint32_t>(ChunkState::free), std::memory_order_release);
  ChunkHeader* none = nullptr;
  if (!spare_.compare_exchange_strong(none, chunk)) pool_.push(chunk);
}

bool Recorder::put(const trace::Meta& meta) noexcept {
  std::array<std::uint64_t, trace::kMaxMetaWords> words;
  const std::size_t count = trace::encode(meta, words.data());
  const std::lock_guard lock(process_mutex_);
  if (options_.when_full == WhenFull::keep_newest) {
    if (const auto* t = std::get_if<trace::ThreadMeta>(&meta)) {
      try {
        threads_.push_back({t->lane, t->tid, std::string(t->name)});
      } catch (...) {
        // A later segment will not know its name.
      }
    }
  }
  const bool room = process_chunk_ != nullptr &&
                    process_write_ + count <= words_of(process_chunk_) + internal::kChunkWords;
  if (!room) {
    ChunkHeader* const chunk = take_for_process_lane();
    if (chunk == nullptr) return false;
    if (process_chunk_ != nullptr) hand_over(process_chunk_);
    open_chunk(chunk, kProcessLane, process_seq_++, now());
    process_chunk_ = chunk;
    process_write_ = words_of(chunk);
  }
  std::memcpy(process_write_, words.data(), count * 8);
  process_write_ += count;
  process_chunk_->tail.store(internal::address(process_write_), std::memory_order_release);
  return true;
}

void Recorder::flush() noexcept { drain_->flush(); }

void Recorder::close() noexcept {
  put_clock();
  drain_->stop();
  if (!drain_->incomplete()) ::unlink(live_.path.c_str());
}

std::string Recorder::process_json(std::uint32_t segment) const {
  ProcessFacts facts;
  facts.trace_id = base::hex(trace_id_);
  facts.segment = segment;
  facts.clock = use_cpu_ticks_ ? "tsc" : "monotonic";
  facts.ticks_per_second = ticks_per_second_;
  facts.started = started_;
  facts.live =
      live_.path.starts_with(folder_ + "/") ? live_.path.substr(folder_.size() + 1) : live_.path;
  facts.keep_newest = options_.when_full == WhenFull::keep_newest && options_.max_trace_bytes != 0;
  facts.keep_args = options_.keep_args;
  return to_json(facts);
}

}  // namespace genscope::record
