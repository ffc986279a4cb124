#include "cli/bench/live_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/characters.h"
#include "base/clock.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "bench/output/words.h"

namespace genscope::cli::bench {
namespace {

namespace gb = genscope::bench;

constexpr std::int64_t kPlainNs = 5'000'000'000;

std::string clock_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::ceil(seconds));
  return base::clock_time(std::round(seconds));
}

std::string change_so_far(const Judgement& j) {
  if (!j.ratio || !j.interval) return "";
  return fmt::format(", B {} ({})", gb::change_text(*j.ratio), gb::interval_text(*j.interval));
}

}  // namespace

std::string progress_text(const gb::Progress& progress) {
  const std::size_t sides = std::max<std::size_t>(1, progress.sides);
  std::string text = fmt::format("{} {} of about {}", sides > 1 ? "pair" : "run",
                                 (progress.units_done + sides - 1) / sides,
                                 (progress.units_expected + sides - 1) / sides);
  if (progress.judgement) text += change_so_far(*progress.judgement);
  if (progress.median) {
    const gb::Metric time = gb::metric("latency_s");
    text += fmt::format(", {} to {}", gb::figure(time.name, progress.median->low),
                        gb::figure(time.name, progress.median->high));
  }
  return text;
}

LiveView::LiveView(bool quiet, bool verbose)
    : terminal_(!quiet && ::isatty(STDERR_FILENO) == 1),
      plain_(verbose && !terminal_),
      began_ns_(base::monotonic_ns()) {
  if (terminal_) ticker_ = std::thread([this] { tick(); });
}

LiveView::~LiveView() {
  if (!ticker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  ticker_.join();
  std::fputs("\r\x1b[K", stderr);
}

void LiveView::begin(const std::string& title) {
  const std::lock_guard lock(mutex_);
  title_ = title;
  state_ = "warm-up";
  eta_at_ns_ = 0;
  if (terminal_) draw();
}

void LiveView::tell(const gb::Progress& progress) { tell(progress_text(progress), progress.eta_s); }

void LiveView::tell(const std::string& state, const std::optional<double>& eta_s) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = base::monotonic_ns();
  state_ = state;
  eta_at_ns_ = eta_s ? now + static_cast<std::int64_t>(*eta_s * 1e9) : 0;
  if (terminal_) draw();
  if (plain_ && now - printed_ns_ >= kPlainNs) {
    printed_ns_ = now;
    std::fprintf(stderr, "%s\n", line(now).c_str());
  }
}

std::string LiveView::line(std::int64_t now_ns) const {
  std::string text = title_.empty() ? "" : title_ + ": ";
  text += fmt::format("{}, {}", state_, clock_text(static_cast<double>(now_ns - began_ns_) * 1e-9));
  if (eta_at_ns_ > now_ns) {
    text +=
        fmt::format(", about {} left", clock_text(static_cast<double>(eta_at_ns_ - now_ns) * 1e-9));
  }
  return base::printable(text);
}

void LiveView::draw() {
  const auto width = static_cast<std::size_t>(std::max(20, base::output_width(STDERR_FILENO) - 1));
  std::fprintf(stderr, "\r\x1b[K%s", base::shorten(line(base::monotonic_ns()), width).c_str());
  std::fflush(stderr);
}

void LiveView::tick() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::seconds(1), [this] { return end_; })) draw();
}

}  // namespace genscope::cli::bench
