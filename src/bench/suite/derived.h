// Figures that follow from others: energy, memory and cost of an image.
#pragma once

#include <optional>
#include <span>

#include "bench/suite/suite.h"

namespace genscope::bench {

// What the GPUs drew before anything ran, as the samples have it; nothing where none could be read.
std::optional<double> idle_watts(std::span<const Cell> cells);

// Adds energy_j_per_image and cost_usd_per_image to the samples of a cell, where they can be had,
// and says under `absent` why not. An image: one of `batch` or `images`, if an axis is called so;
// then also rss_peak_bytes_per_image and vram_peak_bytes_per_image.
void add_derived(const SuiteCost& cost, Cell& cell);

}  // namespace genscope::bench
