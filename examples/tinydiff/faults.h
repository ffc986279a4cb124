// Faults on purpose: each makes a run slow or wasteful in one way, by real work or real waiting, so
// that `genscope advise` can be seen, and tested, to find it. `tinydiff --fault list` lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "joint.h"
#include "options.h"

namespace tinydiff {

struct Fault {
  std::string_view name;
  std::string_view rule;  // of genscope that should say so
  std::string_view what;
  void (*prepare)(Options& options);  // null: as they are
  Spoil (*make)();                    // null: prepare() is all
};

const std::vector<Fault>& faults();
const Fault* find_fault(std::string_view name);  // null: none of that name
std::string fault_list();

// Turns the options into those of their fault, if they name one.
void apply_fault(Options& options);
// What that fault does to a pipeline; empty: nothing.
Spoil make_spoil(const Options& options);

}  // namespace tinydiff
