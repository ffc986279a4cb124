// What `genscope predict` shows, as text for people and as JSON for programs. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <genscope/predict.h>

#include "cli/watch/cells.h"

namespace genscope::cli::predict {

struct Shown {
  Prediction prediction;
  std::optional<double> measured_seconds = {};  // of a step
  std::optional<Mfu> mfu = {};                  // if measured
};

// `explain`: where every figure is from and what is left out.
std::string shown_text(const Shown& shown, bool explain, const watch::Look& look);
// One JSON document (docs/predict.md), with a newline.
std::string shown_json(const Shown& shown);

// The tables behind `--gpu list` and `predict list`.
std::string hardware_text(const std::vector<Hardware>& table);
std::string hardware_json(const std::vector<Hardware>& table);
std::string models_text(const std::vector<Prediction>& models);  // each with its defaults
std::string models_json(const std::vector<Prediction>& models);

}  // namespace genscope::cli::predict
