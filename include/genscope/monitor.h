// Monitors: judge a generation, a request, an operation, an epoch while it runs. Each part stands
// for itself; this header includes them all.
#pragma once

#include <genscope/generation_monitor.h>
#include <genscope/pipeline_settings.h>
#include <genscope/request_monitor.h>
