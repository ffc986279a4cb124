// What `genscope predict` shows people. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <genscope/predict.h>

#include "watch/cells.h"

namespace genscope::cli::predict {

struct Shown {
  Prediction prediction;
  std::optional<double> measured_seconds = {};  // of a step
  std::optional<Mfu> mfu = {};                  // if measured
};

// `explain`: where every figure is from and what is left out.
std::string shown_text(const Shown& shown, bool explain, const watch::Look& look);

// The tables behind `--gpu list` and `predict list`.
std::string hardware_text(const std::vector<Hardware>& table);
std::string models_text(const std::vector<Prediction>& models);  // each with its defaults

}  // namespace genscope::cli::predict
