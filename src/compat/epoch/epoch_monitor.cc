// What a loop calls throws nothing for our lack of memory: it is dropped and counted.
#include <fmt/format.h>

#include <genscope/compat/epoch_monitor.h>
#include <genscope/internal/no_memory.h>
#include <genscope/record.h>

#include <mutex>
#include <new>

#include "base/clock.h"
#include "compat/epoch/book.h"
#include "compat/memory/gpu_watch.h"
#include "compat/print.h"

namespace genscope {
namespace compat::training {
namespace {

double mb(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

// "  Batch 0: 0.538s, GPU 23.1MB, CPU 1648.9MB, loss=0.009458"; what is not known is left out.
std::string batch_line(std::uint64_t batch, std::int64_t duration_ns,
                       std::optional<std::uint64_t> gpu_bytes,
                       std::optional<std::uint64_t> cpu_bytes, std::optional<double> loss) {
  std::string line = fmt::format("  Batch {}: {:.3f}s", batch, in_seconds(duration_ns));
  if (gpu_bytes) line += fmt::format(", GPU {:.1f}MB", mb(*gpu_bytes));
  if (cpu_bytes) line += fmt::format(", CPU {:.1f}MB", mb(*cpu_bytes));
  if (loss) line += fmt::format(", loss={:.6f}", *loss);
  return line + "\n";
}

// "  Epoch end: 4.774s total, GPU 14.4MB, 3236MB reserved, peak 2880MB" and
// "  Batch timing: avg=0.201s, min=0.082s, max=0.538s".
std::string epoch_lines(std::int64_t duration_ns, const GpuMemory& gpu,
                        std::optional<std::uint64_t> gpu_peak, const BatchSums& batches) {
  std::string lines = fmt::format("  Epoch end: {:.3f}s total", in_seconds(duration_ns));
  if (gpu.used_bytes) lines += fmt::format(", GPU {:.1f}MB", mb(*gpu.used_bytes));
  if (gpu.reserved_bytes) lines += fmt::format(", {:.0f}MB reserved", mb(*gpu.reserved_bytes));
  if (gpu_peak) lines += fmt::format(", peak {:.0f}MB", mb(*gpu_peak));
  lines += "\n";
  if (batches.count > 0) {
    lines += fmt::format("  Batch timing: avg={:.3f}s, min={:.3f}s, max={:.3f}s\n",
                         *batches.mean_seconds(), *batches.min_seconds(), *batches.max_seconds());
  }
  return lines;
}

}  // namespace
}  // namespace compat::training

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
    std::int64_t own_ns = 0;  // the monitor's, in this epoch: reading memory and printing
    std::optional<Span> epoch_span, batch_span;
    compat::training::GpuWatch gpu;
  };

  void abandon_batch();
  void print_batch(std::uint64_t batch, std::int64_t duration_ns, std::optional<double> loss,
                   Handle span);
  void print(const std::string& text) const {
    if (options.print) compat::training::print(options.out, text);
  }

  const EpochMonitorOptions options;
  std::int64_t (*const clock)() noexcept;
  std::shared_ptr<MemoryReader> memory;
  std::unique_ptr<Loop> loop = std::make_unique<Loop>();
  mutable std::mutex mutex;
  compat::training::EpochBooks books;  // under the lock
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

void EpochPerformanceMonitor::Impl::print_batch(std::uint64_t batch, std::int64_t duration_ns,
                                                std::optional<double> loss, Handle span) {
  std::optional<std::uint64_t> gpu;
  if (memory->has_gpu()) gpu = memory->gpu().used_bytes;
  const std::optional<std::uint64_t> cpu = memory->cpu_bytes();
  print(compat::training::batch_line(batch, duration_ns, gpu, cpu, loss));
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

void EpochPerformanceMonitor::on_epoch_start() try {
  Impl& m = *impl_;
  if (!m.options.enabled) return;
  Impl::Loop& loop = *m.loop;
  m.abandon_batch();
  loop.epoch_span.reset();
  std::uint64_t index = 0;
  {
    const std::lock_guard lock(m.mutex);
    index = m.books.begin_epoch();
  }
  loop.gpu.open(m.memory.get());
  loop.in_epoch = true;
  loop.own_ns = 0;
  loop.epoch_span.emplace(epoch_site, internal::StaticArg<std::uint64_t>{index_key, index});
  loop.epoch_begin_ns = loop.idle_since_ns = m.clock();
} catch (const std::bad_alloc&) {
  internal::count_lost(0, 1);
}

void EpochPerformanceMonitor::on_batch_start(std::uint64_t batch) try {
  Impl& m = *impl_;
  if (!m.options.enabled) return;
  Impl::Loop& loop = *m.loop;
  m.abandon_batch();
  loop.in_batch = true;
  loop.batch_span.emplace(batch_site, internal::StaticArg<std::uint64_t>{index_key, batch});
  loop.batch_begin_ns = m.clock();
} catch (const std::bad_alloc&) {
  internal::count_lost(0, 1);
}

void EpochPerformanceMonitor::on_batch_end(std::uint64_t batch, std::optional<double> loss,
                                           std::uint64_t samples) try {
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
  loop.idle_since_ns = ended;
  {
    const std::lock_guard lock(m.mutex);
    m.books.add({batch, duration, wait, loss, samples > 0 ? samples : m.options.samples_per_batch},
                m.options.warmup_batches);
  }
  if (batch >= m.options.verbose_batches || !m.options.print) return;
  m.print_batch(batch, duration, loss, span);
  loop.idle_since_ns = m.clock();  // printing is not waiting for data
  loop.own_ns += loop.idle_since_ns - ended;
} catch (const std::bad_alloc&) {
  internal::count_lost(0, 1);
}

void EpochPerformanceMonitor::on_epoch_end() try {
  Impl& m = *impl_;
  if (!m.options.enabled || !m.loop->in_epoch) return;
  Impl::Loop& loop = *m.loop;
  const std::int64_t duration = m.clock() - loop.epoch_begin_ns - loop.own_ns;
  m.abandon_batch();
  loop.in_epoch = false;
  const Handle span = loop.epoch_span->handle();
  loop.epoch_span.reset();
  loop.gpu.close();
  const std::optional<std::uint64_t> peak = loop.gpu.peak_bytes();
  tell(span, gpu_key, loop.gpu.end().used_bytes);
  tell(span, gpu_reserved_key, loop.gpu.end().reserved_bytes);
  tell(span, gpu_peak_key, peak);
  compat::training::BatchSums batches;
  {
    const std::lock_guard lock(m.mutex);
    batches = m.books.epoch.all;
    m.books.end_epoch(duration, peak, m.options.max_epochs);
  }
  m.print(compat::training::epoch_lines(duration, loop.gpu.end(), peak, batches));
} catch (const std::bad_alloc&) {
  internal::count_lost(0, 1);
}

EpochStatistics EpochPerformanceMonitor::get_statistics() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->books.statistics();
}

void EpochPerformanceMonitor::reset() try {
  impl_->loop = std::make_unique<Impl::Loop>();
  const std::lock_guard lock(impl_->mutex);
  impl_->books = {};
} catch (const std::bad_alloc&) {
  internal::count_lost(0, 1);
}

}  // namespace genscope
