// What runs next in a generation service: admission, batches, retries, breakers, hedged calls.
// Each header is a manual of its own and stands alone.
#pragma once

#include <genscope/optimize/admission.h>
#include <genscope/optimize/batch.h>
#include <genscope/optimize/retry.h>
#include <genscope/optimize/step_batch.h>
