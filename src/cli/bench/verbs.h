// The verbs of `genscope bench`, one file each.
#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace genscope::cli::bench {

std::unique_ptr<Command> make_cmd();
std::unique_ptr<Command> make_ab();
std::unique_ptr<Command> make_run_suite();
std::unique_ptr<Command> make_validate();
std::unique_ptr<Command> make_e2e();
std::unique_ptr<Command> make_gpu();
std::unique_ptr<Command> make_vlm();
std::unique_ptr<Command> make_load();
std::unique_ptr<Command> make_bench_compare();
std::unique_ptr<Command> make_baseline();
std::unique_ptr<Command> make_history();
std::unique_ptr<Command> make_selfcheck();
std::unique_ptr<Command> make_bisect();
std::unique_ptr<Command> make_frontier();
std::unique_ptr<Command> make_bench_import();
std::unique_ptr<Command> make_plan();
std::unique_ptr<Command> make_cell();
std::unique_ptr<Command> make_gather();
std::unique_ptr<Command> make_fixed_work();  // hidden: what selfcheck measures
std::unique_ptr<Command> make_bench_report();
std::unique_ptr<Command> make_bench_export();

}  // namespace genscope::cli::bench
