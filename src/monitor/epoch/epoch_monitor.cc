#include <genscope/epoch_monitor.h>
#include <genscope/record.h>

#include <deque>
#include <mutex>

#include "base/clock.h"
#include "monitor/epoch/book.h"
#include "monitor/epoch/lines.h"
#include "monitor/memory/gpu_watch.h"
#include "monitor/print.h"

namespace genscope {
namespace {

constinit Site epoch_site{"epoch", SpanKind::epoch, {0}};
constinit Site batch_site{"batch", SpanKind::batch, {0}};
constinit Site loss_key{"loss", SpanKind::none, {0}};
constinit Site cpu_key{"cpu_bytes", SpanKind::none, {0}};
constinit Site gpu_key{"gpu_bytes", SpanKind::none, {0}};
constinit Site gpu_reserved_key{"gpu_reserved_bytes", SpanKind::none, {0}};
constinit Site gpu_peak_key{"gpu_peak_bytes", SpanKind::none, {0}};

// An argument of a span that has ended already: readings are not to lengthen it.
void tell(Handle span, Site& key, std::optional<std::uint64_t> bytes) noexcept {
  if (span && bytes) span.arg(Arg(internal::StaticArg<std::uint64_t>{key, *bytes}));
}

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }
std::optional<double> in_seconds(std::optional<double> ns) {
  return ns ? std::optional(*ns / 1e9) : std::nullopt;
}

EpochFigures figures_of(std::uint64_t epoch, std::int64_t duration_ns,
                        const monitor::BatchSums& batches, const stats::Histogram& durations_ns,
                        std::optional<std::uint64_t> gpu_peak) {
  EpochFigures f;
  f.epoch = epoch;
  f.seconds = in_seconds(duration_ns);
  f.num_batches = batches.count;
  f.batch_seconds = in_seconds(batches.total_ns);
  f.avg_batch_time = batches.mean_seconds();
  f.min_batch_time = batches.min_seconds();
  f.max_batch_time = batches.max_seconds();
  f.p50_batch_time = in_seconds(durations_ns.quantile(0.5));
  f.data_loading_share = batches.wait_share();
  f.samples_per_second = batches.samples_per_second();
  f.first_loss = batches.losses.first;
  f.last_loss = batches.losses.last;
  f.min_loss = batches.losses.least;
  if (gpu_peak) f.gpu_peak_mb = static_cast<double>(*gpu_peak) / (1024 * 1024);
  return f;
}

}  // namespace

struct EpochPerformanceMonitor::Impl {
  explicit Impl(EpochMonitorOptions given)
      : options(std::move(given)),
        clock(options.clock != nullptr ? options.clock : base::monotonic_ns) {
    if (!options.enabled) return;
    memory = options.memory != nullptr ? options.memory : default_memory_reader(options.device);
  }

  // What on_ calls alone touch.
  struct Loop {
    bool in_epoch = false, in_batch = false;
    std::int64_t epoch_begin_ns = 0, batch_begin_ns = 0, idle_since_ns = 0;
    std::optional<Span> epoch_span, batch_span;
    monitor::GpuWatch gpu;
  };
  // What get_statistics() reads, under the lock.
  struct Books {
    std::uint64_t epochs = 0;  // begun
    std::uint64_t epochs_ended = 0;
    std::int64_t epochs_ns = 0;
    std::uint64_t unfinished = 0;
    monitor::BatchSums all, warmup, steady, epoch;
    stats::Histogram steady_ns, epoch_ns;
    monitor::SlowestBatches slowest;
    std::deque<EpochFigures> rows;
  };

  void abandon_batch();
  void count_batch(std::uint64_t batch, std::int64_t duration_ns, std::int64_t wait_ns,
                   std::optional<double> loss, std::uint64_t samples);
  void print_batch(std::uint64_t batch, std::int64_t duration_ns, std::optional<double> loss,
                   Handle span);
  void print(const std::string& text) const {
    if (options.print) monitor::print(options.out, text);
  }

  const EpochMonitorOptions options;
  std::int64_t (*const clock)() noexcept;
  std::shared_ptr<MemoryReader> memory;
  std::unique_ptr<Loop> loop = std::make_unique<Loop>();
  mutable std::mutex mutex;
  Books books;
};

// A batch that never ended: an exception, or a loop left early.
void EpochPerformanceMonitor::Impl::abandon_batch() {
  if (!loop->in_batch) return;
  loop->in_batch = false;
  loop->batch_span->fail();
  loop->batch_span.reset();
  const std::lock_guard lock(mutex);
  books.unfinished++;
}

void EpochPerformanceMonitor::Impl::count_batch(std::uint64_t batch, std::int64_t duration_ns,
                                                std::int64_t wait_ns, std::optional<double> loss,
                                                std::uint64_t samples) {
  const std::lock_guard lock(mutex);
  const bool warm = books.all.count >= options.warmup_batches;
  for (monitor::BatchSums* sums : {&books.all, &books.epoch}) {
    sums->add(duration_ns);
    sums->wait_ns += wait_ns;
    sums->samples += samples;
    if (loss) sums->losses.add(*loss);
  }
  const auto ns = static_cast<double>(duration_ns);
  books.epoch_ns.add(ns);
  (warm ? books.steady : books.warmup).add(duration_ns);
  if (!warm) return;
  books.steady_ns.add(ns);
  books.slowest.add({books.epochs > 0 ? books.epochs - 1 : 0, batch, duration_ns});
}

void EpochPerformanceMonitor::Impl::print_batch(std::uint64_t batch, std::int64_t duration_ns,
                                                std::optional<double> loss, Handle span) {
  std::optional<std::uint64_t> gpu;
  if (memory->has_gpu()) gpu = memory->gpu().used_bytes;
  const std::optional<std::uint64_t> cpu = memory->cpu_bytes();
  print(monitor::batch_line(batch, duration_ns, gpu, cpu, loss));
  tell(span, gpu_key, gpu);
  tell(span, cpu_key, cpu);
}

EpochPerformanceMonitor::EpochPerformanceMonitor(EpochMonitorOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

EpochPerformanceMonitor::EpochPerformanceMonitor(bool enabled, std::uint64_t verbose_batches,
                                                 int device)
    : EpochPerformanceMonitor(EpochMonitorOptions{
          .enabled = enabled, .verbose_batches = verbose_batches, .device = device}) {}

EpochPerformanceMonitor::~EpochPerformanceMonitor() = default;

void EpochPerformanceMonitor::on_epoch_start() {
  Impl& m = *impl_;
  if (!m.options.enabled) return;
  Impl::Loop& loop = *m.loop;
  m.abandon_batch();
  loop.epoch_span.reset();
  std::uint64_t index = 0;
  {
    const std::lock_guard lock(m.mutex);
    index = m.books.epochs++;
    m.books.epoch = {};
    m.books.epoch_ns = {};
  }
  loop.gpu.open(m.memory.get());
  loop.in_epoch = true;
  loop.epoch_span.emplace(epoch_site, internal::StaticArg<std::uint64_t>{index_key, index});
  loop.epoch_begin_ns = loop.idle_since_ns = m.clock();
}

void EpochPerformanceMonitor::on_batch_start(std::uint64_t batch) {
  Impl& m = *impl_;
  if (!m.options.enabled) return;
  Impl::Loop& loop = *m.loop;
  m.abandon_batch();
  loop.in_batch = true;
  loop.batch_span.emplace(batch_site, internal::StaticArg<std::uint64_t>{index_key, batch});
  loop.batch_begin_ns = m.clock();
}

void EpochPerformanceMonitor::on_batch_end(std::uint64_t batch, std::optional<double> loss,
                                           std::uint64_t samples) {
  Impl& m = *impl_;
  if (!m.options.enabled || !m.loop->in_batch) return;
  Impl::Loop& loop = *m.loop;
  const std::int64_t ended = m.clock();
  loop.in_batch = false;
  const Handle span = loop.batch_span->handle();
  if (loss && span) {
    span.arg(Arg(internal::StaticArg<double>{loss_key, *loss}));
  }
  loop.batch_span.reset();
  const std::int64_t duration = ended - loop.batch_begin_ns;
  const std::int64_t wait = loop.in_epoch ? loop.batch_begin_ns - loop.idle_since_ns : 0;
  m.count_batch(batch, duration, wait, loss, samples > 0 ? samples : m.options.samples_per_batch);
  loop.idle_since_ns = ended;
  if (batch >= m.options.verbose_batches || !m.options.print) return;
  m.print_batch(batch, duration, loss, span);
  loop.idle_since_ns = m.clock();  // printing is not waiting for data
}

void EpochPerformanceMonitor::on_epoch_end() {
  Impl& m = *impl_;
  if (!m.options.enabled || !m.loop->in_epoch) return;
  Impl::Loop& loop = *m.loop;
  const std::int64_t duration = m.clock() - loop.epoch_begin_ns;
  m.abandon_batch();
  loop.in_epoch = false;
  const Handle span = loop.epoch_span->handle();
  loop.epoch_span.reset();
  loop.gpu.close();
  const std::optional<std::uint64_t> peak = loop.gpu.peak_bytes();
  tell(span, gpu_key, loop.gpu.end().used_bytes);
  tell(span, gpu_reserved_key, loop.gpu.end().reserved_bytes);
  tell(span, gpu_peak_key, peak);
  monitor::BatchSums batches;
  {
    const std::lock_guard lock(m.mutex);
    Impl::Books& books = m.books;
    batches = books.epoch;
    books.epochs_ended++;
    books.epochs_ns += duration;
    books.rows.push_back(figures_of(books.epochs - 1, duration, batches, books.epoch_ns, peak));
    while (books.rows.size() > m.options.max_epochs) books.rows.pop_front();
  }
  m.print(monitor::epoch_lines(duration, loop.gpu.end(), peak, batches));
}

EpochStatistics EpochPerformanceMonitor::get_statistics() const {
  const std::lock_guard lock(impl_->mutex);
  const Impl::Books& b = impl_->books;
  EpochStatistics s;
  s.num_batches = b.all.count;
  s.num_epochs = b.epochs_ended;
  if (b.epochs_ended > 0) {
    s.total_epoch_time = in_seconds(b.epochs_ns);
    s.avg_epoch_time = *s.total_epoch_time / static_cast<double>(b.epochs_ended);
  }
  s.unfinished_batches = b.unfinished;
  s.epochs.assign(b.rows.begin(), b.rows.end());
  if (b.all.count == 0) return s;

  s.total_batch_time = in_seconds(b.all.total_ns);
  s.avg_batch_time = b.all.mean_seconds();
  s.min_batch_time = b.all.min_seconds();
  s.max_batch_time = b.all.max_seconds();
  s.warmup_batches = b.warmup.count;
  if (b.warmup.count > 0) s.warmup_time = in_seconds(b.warmup.total_ns);
  s.steady_batches = b.steady.count;
  s.steady_avg_batch_time = b.steady.mean_seconds();
  s.steady_min_batch_time = b.steady.min_seconds();
  s.steady_max_batch_time = b.steady.max_seconds();
  s.p50_batch_time = in_seconds(b.steady_ns.quantile(0.50));
  s.p90_batch_time = in_seconds(b.steady_ns.quantile(0.90));
  s.p95_batch_time = in_seconds(b.steady_ns.quantile(0.95));
  s.p99_batch_time = in_seconds(b.steady_ns.quantile(0.99));
  if (b.steady.count > 1 && b.steady.min_ns > 0) {
    s.variance_ratio = static_cast<double>(b.steady.max_ns) / static_cast<double>(b.steady.min_ns);
    s.high_variance = *s.variance_ratio > EpochStatistics::kVarianceRatio;
  }
  s.data_loading_time = in_seconds(b.all.wait_ns);
  s.data_loading_share = b.all.wait_share();
  s.slow_data_loading = s.data_loading_share.value_or(0) > EpochStatistics::kDataLoadingShare;
  s.samples_per_second = b.all.samples_per_second();
  s.losses_not_finite = b.all.losses.not_finite;
  s.first_loss = b.all.losses.first;
  s.last_loss = b.all.losses.last;
  s.min_loss = b.all.losses.least;
  s.outliers =
      b.slowest.above(EpochStatistics::kOutlierRatio, b.steady_ns.quantile(0.5).value_or(0));
  return s;
}

void EpochPerformanceMonitor::reset() {
  impl_->loop = std::make_unique<Impl::Loop>();
  const std::lock_guard lock(impl_->mutex);
  impl_->books = {};
}

}  // namespace genscope
