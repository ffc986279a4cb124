// What programs call the usual stages, under one key each.
#pragma once

#include <string_view>

#include <genscope/trace.h>

namespace genscope::analysis {

// load, text_encode, vae_encode, denoise, vae_decode, post, save; a stage's own name where it is
// none of these. Every span of kind load is "load".
std::string_view stage_key(SpanKind kind, std::string_view name) noexcept;

}  // namespace genscope::analysis
