// Monitors: judge a generation, a request, an operation, an epoch while it runs. Each part stands
// for itself; this header includes them all.
#pragma once

#include <genscope/epoch_monitor.h>
#include <genscope/generation_monitor.h>
#include <genscope/memory_reader.h>
#include <genscope/monitor_config.h>
#include <genscope/performance_monitor.h>
#include <genscope/pipeline_settings.h>
#include <genscope/request_monitor.h>
