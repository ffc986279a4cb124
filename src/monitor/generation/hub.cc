// States of generations are kept for reuse, with the room for their steps, so that a generation
// like the one before allocates next to nothing and a step allocates nothing at all. The clock is
// read last at the start and first at the end: what the monitor itself does, memory readings among
// it, is in no generation's time.
//
// The projected total needs what comes after the steps (the decoder): the last generation's is
// taken, which a lone atomic carries to the next one. The lock is for the history; advice is made
// without it, and only if somebody asked to be told.
#include "monitor/generation/hub.h"

#include <algorithm>

#include <genscope/advise.h>

#include "monitor/generation/diagnose.h"

namespace genscope::monitor {
namespace {

constexpr std::size_t kSpareStates = 64;
constexpr std::size_t kKnownNames = 64;
constexpr std::size_t kFirstSteps = 64;  // room for the steps of a generation that tells no number

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

template <class T>
void fall_back(T& value, const T& otherwise) {
  if (value == T{}) value = otherwise;
}

GenerationSettings merged(GenerationSettings settings, const GenerationSettings& defaults) {
  fall_back(settings.model_name, defaults.model_name);
  fall_back(settings.architecture_type, defaults.architecture_type);
  fall_back(settings.num_steps, defaults.num_steps);
  fall_back(settings.width, defaults.width);
  fall_back(settings.height, defaults.height);
  fall_back(settings.batch_size, defaults.batch_size);
  fall_back(settings.torch_dtype, defaults.torch_dtype);
  fall_back(settings.device, defaults.device);
  fall_back(settings.under, defaults.under);
  fall_back(settings.request_id, defaults.request_id);
  if (settings.facts == nullptr) settings.facts = defaults.facts;
  if (settings.batch_size == 0) settings.batch_size = 1;
  return settings;
}

}  // namespace

void GenerationState::reset() noexcept {
  std::vector<std::int64_t> room = std::move(steps);
  room.clear();
  const std::size_t limit = step_limit;
  *this = GenerationState(ticks);
  steps = std::move(room);
  step_limit = limit;
}

GenerationHub::GenerationHub(GenerationMonitorOptions given)
    : options(std::move(given)),
      ticks(options.clock),
      number(next_number()),
      memory_(probe_options_from_environment(), options.gpu_memory),
      model_(options.model_path.empty() ? ModelIdentity{} : identify_files(options.model_path)),
      history_(options.history),
      steps_(options.step_history) {}

std::unique_ptr<GenerationState> GenerationHub::take_state() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      std::unique_ptr<GenerationState> state = std::move(spare_.back());
      spare_.pop_back();
      state->step_limit = options.step_history;
      return state;
    }
  }
  auto state = std::make_unique<GenerationState>(ticks);
  state->step_limit = options.step_history;
  return state;
}

std::unique_ptr<GenerationState> GenerationHub::start(const GenerationSettings& settings,
                                                      bool scoped) {
  std::unique_ptr<GenerationState> state = take_state();
  GenerationState& s = *state;
  s.settings = merged(settings, options.generation);
  s.id = next_id_.fetch_add(1, std::memory_order_relaxed);
  s.num_steps = s.settings.num_steps;
  s.steps.reserve(std::min<std::size_t>(s.num_steps > 0 ? s.num_steps : kFirstSteps, s.step_limit));
  s.target = ticks.ticks(options.target.high_seconds);
  s.tail = static_cast<double>(tail_.load(std::memory_order_relaxed));
  s.warn_from = std::max<std::uint64_t>(3, options.warn_from_step);
  if (options.gpu_memory) memory_.gpu(s.settings.device);  // opens it, once
  tell_settings(s);
  read_memory(s, ticks.now(), true);
  const Handle under(s.settings.under);
  const SpanKind kind = under ? SpanKind::stage : SpanKind::request;
  s.scoped = scoped && !under;  // a scope's parent is its thread's, not one that is named
  s.span = s.scoped ? begin_scoped(kind, "generation", {{"index", s.id}})
                    : genscope::begin(kind, "generation", {under, {}}, {{"index", s.id}});
  s.begin = ticks.now();  // last, so that nothing of ours is in its time
  return state;
}

// Once a monitor: what `genscope report` and the rules want to know of the run.
void GenerationHub::tell_settings(const GenerationState& s) noexcept {
  if (!recorder_stats().active || told_.exchange(true, std::memory_order_relaxed)) return;
  event("config", {{"target_seconds", options.target.high_seconds},
                   {"model", std::string_view(s.settings.model_name)}});
  if (s.num_steps > 0) event("config", {{"steps", s.num_steps}});
}

void GenerationHub::read_memory(GenerationState& s, std::int64_t now, bool wait) noexcept {
  s.next_memory_read =
      now + static_cast<std::int64_t>(ticks.ticks(std::max(0.0, options.memory_interval_seconds)));
  if (!options.system_memory && !options.gpu_memory) return;
  memory_.read(s.settings.device, wait, s.memory);
}

void GenerationHub::cross(GenerationState& s, std::int64_t now, double projected) noexcept {
  s.out_of_reach = !s.out_of_reach;
  if (s.out_of_reach && !s.warned_at_step) s.warned_at_step = s.steps_done;
  const EarlyWarning warning{.generation = s.id,
                             .step = s.steps_done,
                             .steps = s.num_steps,
                             .out_of_reach = s.out_of_reach,
                             .elapsed_seconds = ticks.seconds(now - s.begin),
                             .projected_seconds = projected / ticks.ticks(1),
                             .target_seconds = options.target.high_seconds};
  event(s.span, s.out_of_reach ? "target_out_of_reach" : "target_in_reach",
        {{"step", warning.step}, {"projected_seconds", warning.projected_seconds}});
  if (options.on_early_warning) options.on_early_warning(warning);
}

GenerationMetrics GenerationHub::finish(std::unique_ptr<GenerationState> state, bool failed,
                                        std::string_view reason) {
  GenerationState& s = *state;
  const std::int64_t end = ticks.now();
  if (failed) {
    end_failed(s.span);
  } else {
    genscope::end(s.span);
  }
  read_memory(s, end, true);
  GenerationMetrics metrics;
  metrics.id = s.id;
  metrics.request_id = s.settings.request_id;
  fill_times(s, end, metrics);
  fill_memory(s, metrics);
  fill_identity(s, metrics);
  if (failed) {
    metrics.status = TargetStatus::failed;
    metrics.failure = reason.empty() ? "no reason was given" : std::string(reason);
  } else {
    metrics.status = target_status(metrics.total_generation_time, options.target.high_seconds);
    metrics.performance_score =
        performance_score(metrics.total_generation_time, options.target.high_seconds);
    metrics.target_met = metrics.status == TargetStatus::met;
    metrics.faster_than_target =
        metrics.target_met && metrics.total_generation_time <
                                  std::min(options.target.low_seconds, options.target.high_seconds);
  }
  const std::int64_t tail = !failed && s.steps_done > 0 ? end - s.last_step_end : -1;
  keep(std::move(state), metrics, tail);
  if (!metrics.target_met && options.on_miss) {
    options.on_miss(metrics, advise(facts_of_generation(metrics, summary())));
  }
  return metrics;
}

void GenerationHub::keep(std::unique_ptr<GenerationState> state, const GenerationMetrics& metrics,
                         std::int64_t tail) {
  if (tail >= 0) tail_.store(tail, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const std::size_t kept = state->steps.size();
  const std::size_t oldest = kept == state->step_limit ? state->next_step : 0;
  for (std::size_t i = 0; i < kept; ++i) {
    steps_.push(ticks.seconds(state->steps[(oldest + i) % kept]));
  }
  history_.push(metrics);
  last_ = metrics;
  lifetime_++;
  if (metrics.status == TargetStatus::failed) lifetime_failed_++;
  state->reset();
  if (spare_.size() < kSpareStates) spare_.push_back(std::move(state));
}

void GenerationHub::keep_load(bool setup, double seconds) {
  const std::lock_guard lock(mutex_);
  (setup ? setup_seconds_ : load_seconds_) = seconds;
}

ModelIdentity GenerationHub::identified(const std::string& model_name) {
  if (model_name.empty()) return model_;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, identity] : names_) {
      if (known == model_name) return identity;
    }
  }
  ModelIdentity identity = identify_name(model_name);
  const std::lock_guard lock(mutex_);
  if (names_.size() < kKnownNames) names_.emplace_back(model_name, identity);
  return identity;
}

std::optional<GenerationMetrics> GenerationHub::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::vector<GenerationMetrics> GenerationHub::history() const {
  const std::lock_guard lock(mutex_);
  return history_.items();
}

GenerationExport GenerationHub::exported() const {
  const std::lock_guard lock(mutex_);
  return {last_, history_.items(), steps_.items()};
}

void GenerationHub::import(GenerationExport older) {
  const std::lock_guard lock(mutex_);
  const auto put_before = [](auto& ring, auto&& first) {
    const auto now = ring.items();
    ring.clear();
    for (auto& item : first) ring.push(std::move(item));
    for (const auto& item : now) ring.push(item);
  };
  if (older.history.empty() && older.current_metrics) {
    older.history.push_back(*older.current_metrics);
  }
  lifetime_ += older.history.size();
  for (const GenerationMetrics& metrics : older.history) {
    if (metrics.status == TargetStatus::failed) lifetime_failed_++;
  }
  if (!last_) last_ = older.current_metrics;
  put_before(history_, std::move(older.history));
  put_before(steps_, std::move(older.step_times));
}

void GenerationHub::reset_last() {
  const std::lock_guard lock(mutex_);
  last_.reset();
}

void GenerationHub::clear_history() {
  const std::lock_guard lock(mutex_);
  history_.clear();
  steps_.clear();
}

}  // namespace genscope::monitor
