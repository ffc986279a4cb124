// Figures that follow from others: energy and cost of an image.
#pragma once

#include <optional>
#include <vector>

#include <genscope/suite.h>

namespace genscope::bench {

// What GPUs draw while nothing runs; nothing where none can be read.
std::optional<double> idle_watts();

// Adds energy_j_per_image and cost_usd_per_image to the samples of a cell, where they can be had,
// and says under `absent` why not. An image: one of `batch` or `images`, if an axis is called so.
void add_derived(const SuiteCost& cost, std::optional<double> idle_w, Cell& cell);

}  // namespace genscope::bench
