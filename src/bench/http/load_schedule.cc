// Arrivals are drawn before the first request is sent, as times since the start: a late request
// delays no other. Generator k of n draws a Poisson process of rate / n from its own seed (the sum
// of such is a Poisson process of the whole rate), and takes each n-th time of anything else: of
// what has no chance in it, and of the gamma process that all draw from the same seed.
//
// Gamma: times between arrivals have the shape 1 / cv^2, so that cv is their spread over their
// mean. Drawn by Marsaglia and Tsang's method from our own uniforms: the same seed gives the same
// schedule with any compiler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyze/load/queueing.h"
#include "bench/http/load.h"

namespace genscope::bench {
namespace {

constexpr std::uint64_t kMostRequests = 20'000'000;

Error bad_load(std::string_view what) { return {ErrorCode::invalid_argument, std::string(what)}; }

std::int64_t to_ns(double seconds) { return std::llround(seconds * 1e9); }

// How many of `total` fall to this generator, by number modulo generators.
std::uint64_t own_share(std::uint64_t total, const LoadOptions& options) {
  return total / options.generators + (options.generator - 1 < total % options.generators ? 1 : 0);
}

class Uniform {
 public:
  Uniform(const LoadOptions& options, std::uint32_t stream) {
    std::seed_seq seeds{options.seed & 0xffffffff, options.seed >> 32, std::uint64_t{stream},
                        std::uint64_t{0x6c6f6164}};
    random_.seed(seeds);
  }
  double operator()() { return static_cast<double>(random_() >> 11) * 0x1p-53; }  // in [0, 1)

 private:
  std::mt19937_64 random_;
};

std::vector<double> uniforms(std::uint64_t count, const LoadOptions& options) {
  Uniform uniform(options, options.generator);
  std::vector<double> drawn(count);
  for (double& u : drawn) u = uniform();
  return drawn;
}

double draw_normal(Uniform& uniform) {
  const double u = 1 - uniform();  // in (0, 1]
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::acos(-1) * uniform());
}

// Of mean `shape`. A shape below 1 comes from shape + 1, times u^(1/shape).
double draw_gamma(Uniform& uniform, double shape) {
  if (shape < 1) {
    const double u = 1 - uniform();
    return draw_gamma(uniform, shape + 1) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(uniform);
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

Result<std::vector<std::int64_t>> poisson_times(const LoadOptions& options) {
  const double rate = options.rate / options.generators;
  std::uint64_t count = options.requests ? own_share(*options.requests, options) : kMostRequests;
  if (options.duration_s) {
    const double expected = rate * *options.duration_s;
    const double enough = expected + 10 * std::sqrt(expected) + 20;
    if (enough < static_cast<double>(count)) count = static_cast<std::uint64_t>(enough);
  }
  std::vector<std::int64_t> times;
  for (const double t : stats::poisson_schedule(uniforms(count, options), rate)) {
    if (options.duration_s && t >= *options.duration_s) break;
    times.push_back(to_ns(t));
  }
  return times;
}

std::vector<std::int64_t> gamma_times(const LoadOptions& options) {
  Uniform uniform(options, 0);
  const double shape = 1 / (options.cv * options.cv), scale = 1 / (options.rate * shape);
  std::vector<std::int64_t> times;
  double t = 0;
  for (std::uint64_t i = 0; i < options.requests.value_or(kMostRequests); ++i) {
    t += draw_gamma(uniform, shape) * scale;
    if (options.duration_s && t >= *options.duration_s) break;
    if (i % options.generators == options.generator - 1) times.push_back(to_ns(t));
  }
  return times;
}

std::vector<std::int64_t> constant_times(const LoadOptions& options) {
  std::vector<std::int64_t> times;
  for (std::uint64_t i = options.generator - 1; i < options.requests.value_or(kMostRequests);
       i += options.generators) {
    const double t = static_cast<double>(i) / options.rate;
    if (options.duration_s && t >= *options.duration_s) break;
    times.push_back(to_ns(t));
  }
  return times;
}

std::vector<std::int64_t> trace_times(const LoadOptions& options) {
  std::vector<std::int64_t> times;
  const std::uint64_t end =
      std::min<std::uint64_t>(options.trace_s.size(), options.requests.value_or(kMostRequests));
  for (std::uint64_t i = options.generator - 1; i < end; i += options.generators) {
    if (options.duration_s && options.trace_s[i] >= *options.duration_s) break;
    times.push_back(to_ns(options.trace_s[i]));
  }
  return times;
}

Status check_size(const LoadOptions& options) {
  if (options.generators == 0 || options.generator == 0 || options.generator > options.generators) {
    return bad_load("a generator is one of several: 1/3, 2/3, 3/3");
  }
  if (options.arrivals != Arrivals::trace && !options.duration_s && !options.requests) {
    return bad_load("say how long: a duration, or a number of requests");
  }
  const bool by_rate = options.arrivals == Arrivals::poisson ||
                       options.arrivals == Arrivals::gamma ||
                       options.arrivals == Arrivals::constant;
  if (by_rate && !(options.rate > 0 && options.rate <= 1e6)) {
    return bad_load("an open loop needs a rate above 0, in requests per second");
  }
  if (options.arrivals == Arrivals::gamma && !(options.cv > 0 && options.cv <= 100)) {
    return bad_load("gamma arrivals need a cv above 0 and up to 100");
  }
  const double expected = options.duration_s ? options.rate * *options.duration_s : 0;
  const auto most = static_cast<double>(kMostRequests);
  if (by_rate && expected > most && options.requests.value_or(kMostRequests) >= kMostRequests) {
    return bad_load(fmt::format("at most {} requests in one run", kMostRequests));
  }
  if (options.requests.value_or(0) > kMostRequests) {
    return bad_load(fmt::format("at most {} requests in one run", kMostRequests));
  }
  return Done{};
}

}  // namespace

Result<std::vector<std::int64_t>> arrival_times(const LoadOptions& options) {
  if (const Status fine = check_size(options); !fine) return fine.error();
  std::vector<std::int64_t> times;
  switch (options.arrivals) {
    case Arrivals::closed:
      return times;
    case Arrivals::poisson:
      return poisson_times(options);
    case Arrivals::gamma:
      times = gamma_times(options);
      break;
    case Arrivals::constant:
      times = constant_times(options);
      break;
    case Arrivals::trace:
      times = trace_times(options);
      break;
    case Arrivals::at_once:
      times.assign(own_share(options.requests.value_or(0), options), 0);
      break;
  }
  return times;
}

}  // namespace genscope::bench
