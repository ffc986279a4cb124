// The handles: what runs in the user's loop. They lack no memory that would harm it: what cannot be
// kept is dropped and counted.
#include <exception>
#include <new>

#include <genscope/internal/no_memory.h>

#include "monitor/generation/hub.h"
#include "monitor/generation/open_here.h"
#include "monitor/generation/recorded_step.h"

namespace genscope {

using monitor::GenerationState;

namespace {

// A target that came back must be this much below, so that it does not flicker at the border.
constexpr double kBackInReach = 0.98;

std::int64_t open_span(GenerationState& s) noexcept {
  if (s.scoped) {
    if (s.ticks.shared_with_recorder()) {
      return monitor::begin_recorded_step(s.steps_done, s.step_span);
    }
    monitor::begin_recorded_step(s.steps_done, s.step_span);
  } else {
    s.step_span = begin(step_site, {s.span, {}}, {{"index", s.steps_done}}).id();
  }
  return s.ticks.now();
}

std::int64_t close_span(GenerationState& s) noexcept {
  if (s.scoped && s.ticks.shared_with_recorder()) return monitor::end_recorded_step(s.step_span);
  const std::int64_t now = s.ticks.now();
  end(Handle(s.step_span));
  return now;
}

bool surely_in_reach(const GenerationState& s, std::int64_t now) noexcept {
  const double most =
      s.projectable() ? s.projected_at_most(now) : static_cast<double>(now - s.begin);
  return most <= s.target;
}

[[gnu::noinline]] void judge(monitor::GenerationHub& hub, GenerationState& s,
                             std::int64_t now) noexcept {
  const double projected = s.projectable() ? s.projected(now) : static_cast<double>(now - s.begin);
  const double limit = s.out_of_reach ? s.target * kBackInReach : s.target;
  if ((projected > limit) != s.out_of_reach) hub.cross(s, now, projected);
}

}  // namespace

Generation::Generation() noexcept = default;
Generation::Generation(std::shared_ptr<monitor::GenerationHub> hub,
                       std::unique_ptr<GenerationState> state) noexcept
    : hub_(std::move(hub)), state_(std::move(state)) {}
Generation::Generation(Generation&& other) noexcept = default;

Generation& Generation::operator=(Generation&& other) noexcept {
  if (this == &other) return *this;
  if (running()) finish(true, "abandoned: another took the place of its handle");
  hub_ = std::move(other.hub_);
  state_ = std::move(other.state_);
  return *this;
}

Generation::~Generation() {
  if (running()) finish(true, "abandoned: neither ended nor failed");
}

void Generation::begin_step() noexcept {
  if (state_ == nullptr) return;
  if (state_->step_open) end_step();
  state_->step_open = true;
  state_->step_begin = open_span(*state_);
}

std::optional<double> Generation::end_step() noexcept {
  if (state_ == nullptr || !state_->step_open) return std::nullopt;
  GenerationState& s = *state_;
  const std::int64_t now = close_span(s);
  const std::int64_t took = now - s.step_begin;
  s.step_open = false;
  s.step_span = 0;
  s.add_step(took, now);
  if (s.out_of_reach || !surely_in_reach(s, now)) [[unlikely]]
    judge(*hub_, s, now);
  if (now >= s.next_memory_read) [[unlikely]]
    hub_->read_memory(s, now, false);
  return s.ticks.seconds(took);
}

GenerationProgress Generation::progress() const noexcept {
  GenerationProgress progress;
  if (state_ == nullptr) return progress;
  const GenerationState& s = *state_;
  const std::int64_t now = s.ticks.now();
  progress.steps_done = s.steps_done;
  progress.elapsed_seconds = s.ticks.seconds(now - s.begin);
  progress.out_of_reach = s.out_of_reach;
  if (s.projectable()) {
    // From the end of the last step: the one that runs is among those that are left.
    progress.projected_seconds = s.projected(s.last_step_end) / s.ticks.ticks(1);
    if (*progress.projected_seconds < progress.elapsed_seconds) {
      progress.projected_seconds = progress.elapsed_seconds;
    }
  }
  return progress;
}

void Generation::note_gpu_memory(std::uint64_t used_bytes) noexcept {
  if (state_ == nullptr) return;
  const auto bytes = static_cast<double>(used_bytes);
  std::optional<double>& peak = state_->memory.gpu_used;
  if (!peak || bytes > *peak) peak = bytes;
}

std::uint64_t Generation::span_id() const noexcept {
  return state_ != nullptr ? state_->span.id() : 0;
}
std::uint64_t Generation::id() const noexcept { return state_ != nullptr ? state_->id : 0; }

GenerationMetrics Generation::end() { return finish(false, {}); }
GenerationMetrics Generation::fail(std::string_view reason) { return finish(true, reason); }

GenerationMetrics Generation::finish(bool failed, std::string_view reason) {
  try {
    return finish_or_throw(failed, reason);
  } catch (const std::bad_alloc&) {
    internal::count_lost(0, 1);
    return {};
  }
}

GenerationMetrics Generation::finish_or_throw(bool failed, std::string_view reason) {
  if (state_ == nullptr) return {};
  if (state_->step_open) {
    if (failed) {  // a step that broke off is no step
      genscope::end_failed(Handle(state_->step_span));
      state_->step_open = false;
    } else {
      end_step();
    }
  }
  const std::shared_ptr<monitor::GenerationHub> hub = std::move(hub_);
  return hub->finish(std::move(state_), failed, reason);
}

ScopedGeneration::ScopedGeneration(Generation&& generation) noexcept
    : Generation(std::move(generation)), exceptions_(std::uncaught_exceptions()) {
  if (running()) monitor::list_here({hub_->number, this, nullptr});
}

ScopedGeneration::~ScopedGeneration() {
  monitor::close_here(this);
  if (!running()) return;
  const bool thrown = std::uncaught_exceptions() > exceptions_;
  finish(thrown, thrown ? "an exception left its scope" : "");
}

LoadScope::LoadScope(std::shared_ptr<monitor::GenerationHub> hub, bool setup, std::string_view name)
    : hub_(std::move(hub)),
      span_(begin_scoped(SpanKind::load, name).id()),
      begin_(hub_->ticks.now()),
      exceptions_(std::uncaught_exceptions()),
      setup_(setup) {}

LoadScope::~LoadScope() {
  if (!open_) return;
  if (std::uncaught_exceptions() > exceptions_) {
    end_failed(Handle(span_));
  } else {
    end();
  }
}

double LoadScope::end() noexcept {
  if (!open_) return seconds_;
  open_ = false;
  genscope::end(Handle(span_));
  seconds_ = hub_->ticks.seconds(hub_->ticks.now() - begin_);
  hub_->keep_load(setup_, seconds_);
  return seconds_;
}

}  // namespace genscope
