// Monitors: judge a generation, an epoch, a request, an operation while it runs. All of them:
#pragma once

#include <genscope/epoch_monitor.h>
#include <genscope/memory_reader.h>
#include <genscope/monitor_config.h>
#include <genscope/performance_monitor.h>
