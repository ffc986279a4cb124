// The vectors about benchmarks: early_stopping, sample_size, load_generation, quality,
// history_thresholds, change_points, import_hyperfine.
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/history/change_points.h"
#include "analyze/inference/inference.h"
#include "analyze/load/queueing.h"
#include "analyze/quality/quality.h"
#include "analyze/statistics/statistics.h"
#include "analyze/testing/vectors.h"

namespace genscope::stats {
namespace {

using testing::load_vectors;
using testing::VectorCase;

std::vector<double> as_numbers(const std::vector<std::size_t>& places) {
  return {places.begin(), places.end()};
}

std::vector<std::size_t> as_places(const std::vector<double>& numbers) {
  std::vector<std::size_t> places;
  for (const double n : numbers) places.push_back(static_cast<std::size_t>(n));
  return places;
}

TEST(VectorsOfBenchmarks, EarlyStopping) {
  const auto file = load_vectors("early_stopping");
  for (const VectorCase& c : file.cases) {
    const double percentile = c.number("in.percentile"), confidence = c.number("in.confidence");
    if (c.function == "min_under_latency") {
      const auto over = static_cast<std::uint64_t>(c.number("in.over_latency"));
      const auto h = least_within(percentile, confidence, over, c.number("in.tolerance"));
      ASSERT_TRUE(h) << c.id;
      EXPECT_TRUE(c.agrees("out.h_min", static_cast<double>(*h)));
      EXPECT_TRUE(c.agrees("out.n_min", static_cast<double>(*h + over)));
    } else if (c.function == "early_stopping_percentile") {
      const auto claim = claim_percentile(c.list("in.latencies"), percentile, confidence);
      ASSERT_TRUE(claim) << c.id;
      if (c.has("out.insufficient")) {
        EXPECT_TRUE(c.flag("out.insufficient"));
        EXPECT_FALSE(claim->estimate);
        EXPECT_TRUE(c.agrees("out.n_min", static_cast<double>(claim->least)));
        continue;
      }
      EXPECT_TRUE(c.agrees("out.estimate", claim->estimate.value_or(NAN)));
      EXPECT_TRUE(c.agrees("out.t", static_cast<double>(claim->place)));
      EXPECT_TRUE(c.agrees("out.discarded_highest", static_cast<double>(claim->place) - 1));
    } else {
      ASSERT_EQ(c.function, "server_run_valid");
      const auto run = server_run(static_cast<std::uint64_t>(c.number("in.queries")),
                                  static_cast<std::uint64_t>(c.number("in.over_latency")),
                                  percentile, confidence);
      ASSERT_TRUE(run) << c.id;
      EXPECT_EQ(c.flag("out.valid"), run->valid) << c.id;
      EXPECT_TRUE(c.agrees("out.n_min", static_cast<double>(run->least)));
      EXPECT_TRUE(c.agrees("out.additional_needed", static_cast<double>(run->missing)));
    }
  }
  file.expect_all_read();
}

TEST(VectorsOfBenchmarks, SampleSize) {
  const auto file = load_vectors("sample_size");
  for (const VectorCase& c : file.cases) {
    if (c.function == "n_per_group_t_test") {
      const auto n = runs_for_effect(c.number("in.delta_rel"), c.number("in.sd_rel"),
                                     c.number("in.alpha"), c.number("in.power"));
      ASSERT_TRUE(n) << c.id;
      EXPECT_TRUE(c.agrees("out.n_exact", *n));
      EXPECT_EQ(c.number("out.n_ceil"), std::ceil(*n)) << c.id;
    } else if (c.function == "runs_for_ci_half_width") {
      const auto now = static_cast<std::uint64_t>(c.number("in.n_now"));
      const double cv = c.number("in.cv"), confidence = c.number("in.confidence");
      EXPECT_TRUE(c.agrees("out.half_width_now", half_width(now, cv, confidence).value_or(NAN)));
      const auto n = runs_for_half_width(now, cv, c.number("in.target_rel_half_width"), confidence);
      ASSERT_TRUE(n) << c.id;
      EXPECT_TRUE(c.agrees("out.n_needed", static_cast<double>(*n)));
    } else {
      ASSERT_EQ(c.function, "minimum_detectable_effect");
      const auto effect =
          detectable_effect(static_cast<std::uint64_t>(c.number("in.n_per_group")),
                            c.number("in.cv"), c.number("in.alpha"), c.number("in.power"));
      EXPECT_TRUE(c.agrees("out.mde_rel_t_approx", effect.value_or(NAN)));
    }
  }
  file.expect_all_read();
}

void check_queue(const VectorCase& c) {
  const auto& service = c.list("in.service");
  const auto got =
      fcfs_queue(c.list("in.arrivals"), service, static_cast<std::size_t>(c.number("in.servers")),
                 c.number("in.slo_latency"));
  ASSERT_TRUE(got) << c.id;
  EXPECT_TRUE(c.agrees("out.start", got->start));
  EXPECT_TRUE(c.agrees("out.finish", got->finish));
  EXPECT_TRUE(c.agrees("out.wait", got->wait));
  EXPECT_TRUE(c.agrees("out.latency_from_arrival", got->latency));
  EXPECT_TRUE(c.agrees("out.service_only_latency", service));
  const auto nearest = [](const std::vector<double>& v, double p) {
    return *quantile(v, p, QuantileMethod::nearest_rank);
  };
  EXPECT_TRUE(c.agrees("out.p50_nearest_rank", nearest(got->latency, 0.5)));
  EXPECT_TRUE(c.agrees("out.p90_nearest_rank", nearest(got->latency, 0.9)));
  EXPECT_TRUE(c.agrees("out.p99_nearest_rank", nearest(got->latency, 0.99)));
  EXPECT_TRUE(c.agrees("out.p90_service_only", nearest(service, 0.9)));
  EXPECT_TRUE(c.agrees("out.makespan", got->makespan));
  EXPECT_TRUE(c.agrees("out.throughput", got->throughput.value_or(NAN)));
  EXPECT_TRUE(c.agrees("out.slo_attainment", got->slo_attainment.value_or(NAN)));
  EXPECT_TRUE(c.agrees("out.goodput", got->goodput.value_or(NAN)));
}

TEST(VectorsOfBenchmarks, LoadGeneration) {
  const auto file = load_vectors("load_generation");
  for (const VectorCase& c : file.cases) {
    if (c.function == "fcfs_queue") {
      check_queue(c);
    } else if (c.function == "poisson_schedule") {
      EXPECT_TRUE(
          c.agrees("out.arrivals", poisson_schedule(c.list("in.uniforms"), c.number("in.rate"))));
    } else {
      ASSERT_EQ(c.function, "queue_theory");
      const double rate = c.number("in.rate"), mean = c.number("in.service_mean");
      const QueueTheory one = *queue_theory(rate, mean), two = *queue_theory(rate, mean, 2);
      const auto check = [&](const char* path, std::optional<double> got) {
        if (c.texts.contains(path)) {  // more work than the servers can do
          EXPECT_EQ(c.text(path), "inf");
          EXPECT_FALSE(got) << c.id << " " << path;
        } else if (c.has(path)) {
          EXPECT_TRUE(c.agrees(path, got.value_or(NAN)));
        }
      };
      check("out.rho", one.rho);
      check("out.mm1_mean_wait", one.mean_wait);
      check("out.md1_mean_wait", one.fixed_mean_wait);
      check("out.mm2_prob_wait", two.prob_wait);
      check("out.mm2_mean_wait", two.mean_wait);
    }
  }
  file.expect_all_read();
}

std::vector<double> flat(const std::vector<std::vector<double>>& rows) {
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::vector<std::uint8_t> bytes(const std::vector<double>& values) {
  std::vector<std::uint8_t> all;
  for (const double value : values) all.push_back(static_cast<std::uint8_t>(value));
  return all;
}

TEST(VectorsOfBenchmarks, Quality) {
  const auto file = load_vectors("quality");
  for (const VectorCase& c : file.cases) {
    if (c.function == "frechet_distance") {
      const auto got = frechet_distance(c.list("in.mu1"), flat(c.table("in.sigma1")),
                                        c.list("in.mu2"), flat(c.table("in.sigma2")));
      EXPECT_TRUE(c.agrees("out.value", got.value_or(NAN)));
    } else if (c.function == "psnr8") {
      const auto got = pixel_difference(bytes(c.list("in.a")), bytes(c.list("in.b")));
      ASSERT_TRUE(got) << c.id;
      EXPECT_TRUE(c.agrees("out.mse", got->mse));
      EXPECT_TRUE(c.agrees("out.mean_abs_diff", got->mean_abs));
      if (c.texts.contains("out.psnr_db")) {
        EXPECT_EQ(c.text("out.psnr_db"), "inf");
        EXPECT_TRUE(std::isinf(got->psnr_db));
      } else {
        EXPECT_TRUE(c.agrees("out.psnr_db", got->psnr_db));
      }
    } else {
      ASSERT_EQ(c.function, "range_gate");
      std::map<std::string, double> measured;
      std::map<std::string, Range> ranges;
      const std::string of_measured = "in.measured.", of_ranges = "in.ranges.";
      for (const auto& [path, value] : c.numbers) {
        if (path.starts_with(of_measured)) measured[path.substr(of_measured.size())] = value;
      }
      for (const auto& [path, ends] : c.lists) {
        if (path.starts_with(of_ranges)) {
          ranges[path.substr(of_ranges.size())] = {ends.at(0), ends.at(1)};
        }
      }
      EXPECT_EQ(c.flag("out.pass"), range_gate(measured, ranges).pass) << c.id;
    }
  }
  file.expect_all_read();
}

TEST(VectorsOfBenchmarks, HistoryThresholds) {
  const auto file = load_vectors("history_thresholds");
  for (const VectorCase& c : file.cases) {
    std::optional<Bounds> got;
    if (c.function == "t_prediction_bound" && c.has("in.history")) {
      const auto& history = c.list("in.history");
      got = prediction_bounds(history, c.number("in.cumulative"));
      const Description d = describe(history);
      if (c.has("out.mean")) {
        EXPECT_TRUE(c.agrees("out.mean", *d.mean));
      }
      if (c.has("out.sd")) {
        EXPECT_TRUE(c.agrees("out.sd", *d.stddev));
      }
    } else if (c.function == "t_prediction_bound") {
      got = prediction_bounds(static_cast<std::size_t>(c.number("in.n")), c.number("in.mean"),
                              c.number("in.sd"), c.number("in.cumulative"));
    } else if (c.function == "z_bound") {
      got = normal_bounds(c.number("in.mean"), c.number("in.sd"), c.number("in.cumulative"));
    } else if (c.function == "iqr_bound") {
      got = quartile_bounds(c.number("in.median"), c.number("in.iqr"), c.number("in.multiple"));
    }
    ASSERT_TRUE(got) << c.id << " " << c.function;
    EXPECT_TRUE(c.agrees("out.lower", got->low));
    EXPECT_TRUE(c.agrees("out.upper", got->high));
  }
  file.expect_all_read();
}

// "out.hunter.window30_p0.001_mag0.05." names its settings.
HunterOptions settings_of(const std::string& name) {
  HunterOptions options;
  options.as_otava = true;
  const auto after = [&](const char* key) {
    return std::stod(name.substr(name.find(key) + std::string(key).size()));
  };
  options.window = static_cast<std::size_t>(after("window"));
  options.p_value = after("_p");
  options.magnitude = after("_mag");
  return options;
}

void check_hunter(const VectorCase& c, const std::string& prefix, std::span<const double> series) {
  const std::vector<LevelChange> got = hunter(series, settings_of(prefix));
  std::vector<double> index, before, after, p;
  for (const LevelChange& change : got) {
    index.push_back(static_cast<double>(change.index));
    before.push_back(change.before);
    after.push_back(change.after);
    p.push_back(change.p_value);
  }
  EXPECT_TRUE(c.agrees(prefix + "index", index));
  // Upstream removes from the list of weak points in place: both lists are the same at the end.
  EXPECT_TRUE(c.agrees(prefix + "weak_index", index));
  EXPECT_TRUE(c.agrees(prefix + "mean_before", before));
  EXPECT_TRUE(c.agrees(prefix + "mean_after", after));
  // A p-value of 1e-24 is compared by its digits, not by an absolute difference.
  const auto same_digits = [&](const std::string& path, const std::vector<double>& values) {
    const auto& expected = c.list(path);
    ASSERT_EQ(values.size(), expected.size()) << c.id;
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i] / expected[i], 1, 1e-8) << c.id << " " << path;
    }
  };
  same_digits(prefix + "p_hunter_population_sd", p);
  std::vector<double> student;
  for (const LevelChange& change : level_changes(series, as_places(index))) {
    student.push_back(change.p_value);
  }
  same_digits(prefix + "p_student_sample_sd", student);
}

TEST(VectorsOfBenchmarks, ChangePoints) {
  const auto file = load_vectors("change_points");
  for (const VectorCase& c : file.cases) {
    const auto& series = c.list("in.series");
    const std::vector<double> t = energy_statistics(series);
    const auto peak = std::max_element(t.begin(), t.end());
    EXPECT_TRUE(c.agrees("out.energy_T.argmax_tau", static_cast<double>(peak - t.begin())));
    EXPECT_TRUE(c.agrees("out.energy_T.T_max", *peak));
    if (c.has("out.energy_T.T_at_each_tau")) {
      EXPECT_TRUE(c.agrees("out.energy_T.T_at_each_tau", t));
    }
    const Candidate candidate = *best_split(series);
    EXPECT_TRUE(c.agrees("out.qhat_first_candidate.tau", static_cast<double>(candidate.index)));
    EXPECT_TRUE(c.agrees("out.qhat_first_candidate.qhat", candidate.q));

    // What all generators of the file found ours finds, and nothing that none of them did. Ten
    // times as many permutations leave the p-value at the edge less to chance.
    const auto always = as_places(c.list("out.e_divisive_p0.01.always"));
    auto allowed = as_places(c.list("out.e_divisive_p0.01.sometimes"));
    allowed.insert(allowed.end(), always.begin(), always.end());
    EXPECT_GT(c.number("out.e_divisive_p0.01.generator_runs"), 0);
    EDivisiveOptions options;
    options.permutations =
        10 * static_cast<std::size_t>(c.number("out.e_divisive_p0.01.permutations"));
    const auto found = e_divisive(series, options);
    for (const std::size_t place : always) {
      EXPECT_TRUE(std::count(found.begin(), found.end(), place)) << c.id << " " << place;
    }
    for (const std::size_t place : found) {
      EXPECT_TRUE(std::count(allowed.begin(), allowed.end(), place)) << c.id << " " << place;
    }
    for (const auto& [path, list] : c.lists) {
      const std::size_t end = path.rfind(".index");
      if (path.starts_with("out.hunter.") && end != std::string::npos) {
        check_hunter(c, path.substr(0, end + 1), series);
      }
    }
    for (const VectorCase& fit : c.row_list("out.potts_l1")) {
      std::vector<double> ends, medians, costs;
      for (const PottsSegment& segment : potts(series, fit.number("gamma"), 1)) {
        ends.push_back(static_cast<double>(segment.end));
        medians.push_back(segment.median);
        costs.push_back(segment.cost);
      }
      EXPECT_TRUE(fit.agrees("right_bounds", ends));
      EXPECT_TRUE(fit.agrees("segment_medians", medians));
      EXPECT_TRUE(fit.agrees("l1_cost", costs));
    }
    EXPECT_TRUE(c.agrees("out.perfherder_t7_w12", as_numbers(windowed_t_changes(series))));
  }
  file.expect_all_read();
}

// The figures of the file; reading its JSON belongs to who imports it.
TEST(VectorsOfBenchmarks, ImportHyperfine) {
  const auto file = load_vectors("import_hyperfine");
  for (const VectorCase& c : file.cases) {
    std::vector<std::string> commands;
    std::vector<std::vector<double>> times;
    std::vector<double> n, mean, stddev, ratio;
    for (const VectorCase& result : c.row_list("in.file.results")) {
      commands.push_back(result.text("command"));
      times.push_back(result.list("times"));
      const Description d = describe(times.back());
      n.push_back(static_cast<double>(d.count));
      mean.push_back(*d.mean);
      stddev.push_back(d.stddev.value_or(NAN));
      EXPECT_TRUE(result.agrees("mean", *d.mean));
      EXPECT_TRUE(result.agrees("median", *d.median));
      EXPECT_TRUE(result.agrees("min", *d.min));
      EXPECT_TRUE(result.agrees("max", *d.max));
    }
    for (const RelativeSpeed& speed : relative_speeds(times)) ratio.push_back(speed.ratio);
    EXPECT_EQ(c.text_lists.at("out.commands"), commands);
    c.unread.erase("out.commands");
    EXPECT_TRUE(c.agrees("out.n", n));
    EXPECT_TRUE(c.agrees("out.mean", mean));
    EXPECT_TRUE(c.agrees("out.stddev", stddev));
    EXPECT_TRUE(c.agrees("out.ratio_to_fastest", ratio));
  }
  file.expect_all_read();
}

}  // namespace
}  // namespace genscope::stats
