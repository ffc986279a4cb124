// The runtime of a generation service: what it needs besides the model.
//
//   optimize/async.h        tasks that can be stopped; lanes, limits, pools, timeouts, channels
//   optimize/cache.h        what was made before: by bytes, with expiry, one load however many ask
//   optimize/cache_tiers.h  the same on disk and in Redis
//   optimize/models.h       which models are loaded, on which device, who leaves for whom
//   optimize/model_book.h   its decisions without threads and clock, for an event loop of one's own
//   optimize/admission.h    who may enter, and who waits in which class
//   optimize/batch.h        requests that are alike share a run
//   optimize/step_batch.h   and may join a run between two steps
//   optimize/retry.h        what to do when a call fails: again, elsewhere, or not at all
//   optimize/asio.h         beside Boost.Asio; not included here
//
// Each is a manual of its own and stands alone; docs/optimize.md tells how they fit together, and
// service.h is all of them behind HTTP.
#pragma once

#include <genscope/optimize/admission.h>
#include <genscope/optimize/async.h>
#include <genscope/optimize/batch.h>
#include <genscope/optimize/cache.h>
#include <genscope/optimize/cache_tiers.h>
#include <genscope/optimize/models.h>
#include <genscope/optimize/retry.h>
#include <genscope/optimize/step_batch.h>
