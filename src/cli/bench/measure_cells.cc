#include "cli/bench/measure_cells.h"

#include <fmt/format.h>

#include "cli/bench/live_view.h"
#include "cli/bench/printing.h"
#include "cli/bench/setup_once.h"

namespace genscope::cli::bench {
namespace {

bool has_pairs(const core::BenchResult& result) {
  for (const core::Cell& cell : result.cells) {
    if (cell.stats.contains('A') && cell.stats.contains('B')) return true;
  }
  return false;
}

// What `bench selfcheck` found: for this command, or of the machine.
std::optional<double> noise_of(const core::BenchResult& result) {
  const bool one = result.cells.size() == 1;
  return core::noise_floor_of(result.environment.klass,
                              one ? core::noise_key(result, result.cells.front()) : "");
}

}  // namespace

core::Subject& CellMeasurer::subject_of(const std::string& command) {
  subjects_.push_back(core::command_subject(flags_.command_options(command)));
  return *subjects_.back();
}

// A value that reaches no program: the cells then differ in name alone.
void CellMeasurer::note_unused(const std::vector<CellPlan>& plans) const {
  std::vector<std::string> commands, notes;
  for (const CellPlan& plan : plans) {
    commands.insert(commands.end(), plan.commands.begin(), plan.commands.end());
  }
  for (const std::string& key : flags_.unused_parameters(commands)) {
    notes.push_back(fmt::format(
        "{{{}}} is in no command: only a program that reads $GENSCOPE_PARAM_{} sees its values",
        key, key));
  }
  print_notes(notes, globals_);
}

Status CellMeasurer::run(const std::vector<CellPlan>& plans, core::BenchResult& result) {
  note_unused(plans);
  const Result<std::unique_ptr<SetupOnce>> setup = SetupOnce::start(flags_.setup_once());
  if (!setup) return setup.error();
  LiveView view(globals_.quiet, flags_.verbose());
  const auto title_of = [&](std::size_t i) {
    return plans.size() > 1 ? fmt::format("{} of {}: {}", i + 1, plans.size(), plans[i].title) : "";
  };
  for (std::size_t i = 0; i < plans.size() && !core::cancelled();) {
    const CellPlan& plan = plans[i];
    view.begin(title_of(i));
    std::size_t end = i + 1;
    while (end < plans.size() && plan.commands.size() == 1 && plans[end].turn == plan.turn) ++end;
    if (end - i == 1) {
      std::vector<core::Side> sides;
      for (const std::string& command : plan.commands) {
        sides.push_back({sides.empty() ? 'A' : 'B', &subject_of(command), {}});
      }
      result.cells.push_back(core::measure(plan.id, plan.params, sides, flags_.measure_options(),
                                           [&](const core::Progress& progress) {
                                             view.tell(progress);
                                             return true;
                                           }));
    } else {
      std::vector<core::Part> parts;
      for (std::size_t k = i; k < end; ++k) {
        parts.push_back({plans[k].id, plans[k].params, &subject_of(plans[k].commands[0])});
      }
      const auto cells = core::measure_in_turns(parts, flags_.measure_options(),
                                                [&](const core::Progress& progress) {
                                                  for (std::size_t k = i; k < end; ++k) {
                                                    if (plans[k].id == progress.cell->id)
                                                      view.begin(title_of(k));
                                                  }
                                                  view.tell(progress);
                                                  return true;
                                                });
      result.cells.insert(result.cells.end(), cells.begin(), cells.end());
    }
    i = end;
  }
  JudgeOptions judge;
  judge.min_effect = flags_.effect();
  judge.noise = noise_of(result);
  result.comparisons = core::compare_sides(result, judge);
  if (flags_.compares_outputs() && has_pairs(result)) {
    result.quality = core::compare_outputs(result.cells, flags_.quality());
  }
  return Done{};
}

}  // namespace genscope::cli::bench
