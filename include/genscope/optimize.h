// The runtime of a generation service. Each part is a manual of its own and stands alone.
#pragma once

#include <genscope/optimize/async.h>
#include <genscope/optimize/cache.h>
#include <genscope/optimize/cache_tiers.h>
#include <genscope/optimize/flow.h>
#include <genscope/optimize/models.h>
