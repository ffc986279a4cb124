#include "record/drain.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "record/control.h"
#include "record/recorder.h"

namespace genscope::record {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWriteBytes = 1 << 20;
constexpr auto kShortest = 1ms;
constexpr auto kLongest = 50ms;

std::span<const std::uint64_t> published(ChunkHeader* chunk) noexcept {
  const std::uint64_t tail = chunk->tail.load(std::memory_order_acquire);
  const std::uint64_t data = chunk->data.load(std::memory_order_relaxed);
  return {words_of(chunk), static_cast<std::size_t>((tail - data) / 8)};
}

template <class T>
void append_bytes(std::vector<std::byte>& out, const T* items, std::size_t count) {
  const auto* p = reinterpret_cast<const std::byte*>(items);
  out.insert(out.end(), p, p + count * sizeof(T));
}

}  // namespace

void Drain::start() {
  // The user's signals are not ours to handle.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void Drain::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Drain::flush() noexcept {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++flush_wanted_;
  wake_.notify_one();
  done_.wait(lock, [&] { return flush_done_ >= mine || stopping_; });
}

void Drain::loop() noexcept {
  pthread_setname_np(pthread_self(), "genscope-drain");
  std::chrono::milliseconds pause = kShortest;
  for (;;) {
    std::uint64_t wanted = 0;
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, pause, [&] { return stopping_ || flush_wanted_ > flush_done_; });
      wanted = flush_wanted_;
      last = stopping_;
    }
    const std::uint32_t chunks = round();
    if (last) {
      finish();
      return;
    }
    every_second();
    ChunkPool& pool = recorder_.pool();
    if (pool.free_count() < prefault_target_ / 4) {
      prefault_target_ = std::min(prefault_target_ * 2, pool.count());
    }
    pool.prefault(prefault_target_);
    if (wanted > 0) {
      const std::lock_guard lock(mutex_);
      flush_done_ = wanted;
      done_.notify_all();
    }
    pause = chunks >= 16 ? kShortest
            : chunks > 0 ? std::max(pause / 2, std::chrono::milliseconds(kShortest))
                         : std::min(pause * 2, std::chrono::milliseconds(kLongest));
  }
}

std::uint32_t Drain::round() {
  std::uint32_t count = 0;
  ChunkHeader* chunk = recorder_.pool().take_filled();
  while (chunk != nullptr) {
    ChunkHeader* const next = recorder_.pool().next(chunk);
    handle(chunk);
    count++;
    if (recorder_.file().pending() > kWriteBytes) write_pending();
    chunk = next;
  }
  write_pending();
  return count;
}

void Drain::handle(ChunkHeader* chunk) {
  const auto words = published(chunk);
  const std::uint32_t lane = chunk->lane.load(std::memory_order_relaxed);
  if (stopped_by_error_) return;  // stays in the live file, where the reader finds it
  if (!words.empty()) {
    if (stopped_by_limit_ && lane != 0) {
      count_unwritten(chunk, words);
    } else {
      append_chunk(chunk, words);
    }
  }
  if (chunk->last != 0) open_.erase(lane);
  written_.push_back(chunk);
}

void Drain::append_chunk(ChunkHeader* chunk, std::span<const std::uint64_t> words) {
  TraceFile& file = recorder_.file();
  if (file.segment_done()) {
    write_pending();
    if (Status next = file.next_segment(); next.ok()) {
      const std::string json = recorder_.process_json(file.segment());
      trace::FrameHeader process;
      process.type = trace::FrameType::process;
      file.append(process, std::as_bytes(std::span(json)));
      recorder_.append_definitions();
    }
  }
  trace::FrameHeader header;
  header.type = trace::FrameType::chunk;
  header.lane = chunk->lane.load(std::memory_order_relaxed);
  header.seq = chunk->seq.load(std::memory_order_relaxed);
  header.base_tick = chunk->base.load(std::memory_order_relaxed);
  header.words = static_cast<std::uint32_t>(words.size());
  header.codec = recorder_.options().pack ? trace::Codec::packed : trace::Codec::raw;
  trace::OpenSpans& open = open_[header.lane];
  header.open_spans = static_cast<std::uint32_t>(open.spans().size());
  payload_.clear();
  append_bytes(payload_, open.spans().data(), open.spans().size());
  const trace::ChunkBase base{internal::make_id(header.lane, header.seq, 0), header.base_tick};
  std::span<const std::byte> raw;
  if (header.codec == trace::Codec::packed) {
    packer_.pack(words, base, open, payload_);
  } else {
    raw = std::as_bytes(words);
    trace::advance(words, base, open);
  }
  if (header.lane != 0 && file.full(payload_.size() + raw.size() + sizeof header)) {
    stopped_by_limit_ = true;
    Control::instance().fail("the trace " + file.path() + " reached max_trace_bytes (" +
                             std::to_string(recorder_.options().max_trace_bytes) +
                             "); raise it, or choose WhenFull::keep_newest");
    count_unwritten(chunk, words);
    return;
  }
  file.append(header, payload_, raw);
}

void Drain::count_unwritten(ChunkHeader* chunk, std::span<const std::uint64_t> words) {
  trace::LossMeta& loss = unwritten_[chunk->lane.load(std::memory_order_relaxed)];
  if (loss.spans + loss.records == 0) {
    loss.first_tick = chunk->base.load(std::memory_order_relaxed);
  }
  loss.last_tick = recorder_.now();
  for (std::size_t i = 0; i < words.size(); i += 1 + internal::payload_words(words[i])) {
    switch (internal::op_of(words[i])) {
      case internal::Op::begin:
      case internal::Op::async_begin:
        loss.spans++;
        break;
      case internal::Op::event:
      case internal::Op::event_on:
      case internal::Op::counter:
      case internal::Op::attach:
        loss.records++;
        break;
      default:
        break;
    }
  }
}

void Drain::write_pending() noexcept {
  if (stopped_by_error_) return;
  TraceFile& file = recorder_.file();
  if (const int error = file.write(); error != 0) {
    stopped_by_error_ = true;
    Control::instance().fail("cannot write " + file.path() + ": " + std::strerror(error) +
                             "; what was recorded so far stays readable");
    return;
  }
  recorder_.note_bytes(file.bytes());
  for (ChunkHeader* chunk : written_) recorder_.recycle(chunk);
  written_.clear();
}

void Drain::every_second() noexcept {
  const std::int64_t now = base::monotonic_ns();
  // A few snapshots right after the start: they give the tick rate if the process dies young.
  if (early_snapshots_ < 8) {
    early_snapshots_++;
  } else if (now < next_second_ns_) {
    return;
  }
  next_second_ns_ = now + 1'000'000'000;
  recorder_.put_clock();
  if (!stopped_by_error_ && recorder_.file().removed()) {
    stopped_by_error_ = true;
    Control::instance().fail("somebody deleted " + recorder_.file().path());
  }
}

void Drain::finish() noexcept {
  ChunkPool& pool = recorder_.pool();
  const auto write_open_chunks = [&](bool process_lane) {
    for (std::uint32_t i = 0; i < pool.touched(); ++i) {
      ChunkHeader* const chunk = pool.at(i);
      const bool open = chunk->state.load(std::memory_order_acquire) ==
                        static_cast<std::uint32_t>(ChunkState::open);
      if (!open || (chunk->lane.load(std::memory_order_relaxed) == 0) != process_lane) continue;
      const std::size_t before = written_.size();
      handle(chunk);
      written_.resize(before);  // its thread may still hold it: never recycled
    }
    write_pending();
  };
  write_open_chunks(false);
  for (auto& [lane, loss] : unwritten_) {
    loss.lane = lane;
    recorder_.put(loss);
  }
  round();
  write_open_chunks(true);
  if (stopped_by_error_) return;
  const std::string json =
      std::string("{\"stopped\":") + (stopped_by_limit_ ? "\"max_trace_bytes\"" : "null") + "}";
  trace::FrameHeader close;
  close.type = trace::FrameType::close;
  recorder_.file().append(close, std::as_bytes(std::span(json)));
  write_pending();
}

}  // namespace genscope::record
