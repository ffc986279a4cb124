// The matrix as cells. The product is walked like an odometer, the last axis turning fastest; each
// point is kept, or left out with the reason. Sampling chooses among what is kept. Time and memory
// are linear in the product, which is bounded.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "bench/suite/fields.h"
#include "bench/suite/pairwise.h"
#include "config/yaml.h"

namespace genscope::bench {
namespace {

using advice::Expression;
using advice::Truth;

constexpr std::size_t kMostCells = 100'000;

Error in_suite(const Suite& suite, int line, std::string_view what) {
  return config::error_at(suite.file, line, what);
}

Result<std::vector<PlannedCell>> product(const Suite& suite) {
  std::size_t count = 1;
  for (const SuiteAxis& axis : suite.matrix.axes) {
    count *= axis.values.size();
    if (count > kMostCells) {
      return in_suite(suite, 1,
                      fmt::format("matrix: more than {} cells; shorten an axis", kMostCells));
    }
  }
  std::vector<PlannedCell> cells;
  cells.reserve(count);
  std::vector<std::size_t> at(suite.matrix.axes.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    PlannedCell cell;
    for (std::size_t a = 0; a < at.size(); ++a) {
      cell.params.emplace_back(suite.matrix.axes[a].name, suite.matrix.axes[a].values[at[a]]);
    }
    cell.id = cell_id(cell.params);
    cells.push_back(std::move(cell));
    for (std::size_t a = at.size(); a-- > 0;) {
      if (++at[a] < suite.matrix.axes[a].values.size()) break;
      at[a] = 0;
    }
  }
  return cells;
}

struct Excluder {
  Expression condition;
  const SuiteExclude* rule;
};

Status leave_out(const Suite& suite, const MatrixFields& fields, std::vector<PlannedCell>& cells) {
  const advice::Names names = fields.names();
  std::vector<Excluder> rules;
  for (const SuiteExclude& rule : suite.matrix.exclude) {
    Result<Expression> parsed = Expression::parse(rule.when, names);
    if (!parsed) return in_suite(suite, rule.line, "matrix.exclude: " + parsed.error().message);
    rules.push_back({std::move(*parsed), &rule});
  }
  if (rules.empty()) return Done{};
  for (PlannedCell& cell : cells) {
    const Facts facts = fields.facts(cell.params);
    for (const Excluder& one : rules) {
      const Truth truth = one.condition.evaluate(facts).truth;
      if (truth == Truth::unknown) {
        return in_suite(suite, one.rule->line,
                        fmt::format("matrix.exclude: `{}` has no answer for {}; is there a "
                                    "division by zero?",
                                    one.rule->when, cell.id));
      }
      if (truth != Truth::yes) continue;
      cell.skipped = fmt::format("excluded: {}", one.rule->why);
      break;
    }
  }
  return Done{};
}

void take_sample(const SuiteMatrix& matrix, std::uint64_t seed, std::vector<PlannedCell>& cells) {
  if (matrix.sample == "all") return;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].skipped.empty()) kept.push_back(i);
  }
  std::set<std::size_t> chosen;
  if (matrix.sample == "pairwise") {
    std::vector<const Params*> rows;
    for (const std::size_t i : kept) rows.push_back(&cells[i].params);
    for (const std::size_t row : pairwise(rows, seed)) chosen.insert(kept[row]);
  } else {
    std::mt19937_64 random(seed);
    // Fisher and Yates by hand: std::shuffle differs between libraries.
    for (std::size_t i = 0; i < kept.size() && i < matrix.sample_count; ++i) {
      std::swap(kept[i], kept[i + random() % (kept.size() - i)]);
      chosen.insert(kept[i]);
    }
  }
  const std::string why = fmt::format(
      "not sampled ({}{})", matrix.sample,
      matrix.sample == "random" ? fmt::format(":{}", matrix.sample_count) : std::string());
  for (const std::size_t i : kept) {
    if (!chosen.contains(i)) cells[i].skipped = why;
  }
}

Status add_included(const Suite& suite, std::vector<PlannedCell>& cells) {
  for (const Params& params : suite.matrix.include) {
    const std::string id = cell_id(params);
    const auto same =
        std::find_if(cells.begin(), cells.end(), [&](const auto& cell) { return cell.id == id; });
    if (same == cells.end()) {
      cells.push_back({id, params, {}});
    } else {
      same->skipped.clear();  // it is asked for by name
    }
  }
  std::set<std::string_view> ids;
  for (const PlannedCell& cell : cells) {
    if (!ids.insert(cell.id).second) {
      return in_suite(suite, 1, fmt::format("matrix: two cells are called {}", cell.id));
    }
  }
  return Done{};
}

Status keep_only(const MatrixFields& fields, std::string_view only,
                 std::vector<PlannedCell>& cells) {
  if (only.empty()) return Done{};
  const advice::Names names = fields.names();
  const Result<Expression> condition = Expression::parse(only, names);
  if (!condition) {
    return Error{ErrorCode::invalid_argument, "--only: " + condition.error().message};
  }
  for (PlannedCell& cell : cells) {
    if (condition->evaluate(fields.facts(cell.params)).truth != Truth::yes) {
      cell.skipped = fmt::format("--only {}", only);
    }
  }
  return Done{};
}

}  // namespace

Result<std::vector<PlannedCell>> plan_suite(const Suite& suite, std::uint64_t seed,
                                            std::string_view only) {
  Result<std::vector<PlannedCell>> cells = product(suite);
  if (!cells) return cells;
  const MatrixFields fields(suite.matrix);
  if (Status done = leave_out(suite, fields, *cells); !done) return done.error();
  take_sample(suite.matrix, seed, *cells);
  if (Status done = add_included(suite, *cells); !done) return done.error();
  if (Status done = keep_only(fields, only, *cells); !done) return done.error();
  return cells;
}

}  // namespace genscope::bench
