// Two LTTng-UST tracepoints with one integer each: the shape that lttng/tracepoint-event.h needs.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER genscope_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "record/lttng_provider.h"

#if !defined(GENSCOPE_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GENSCOPE_BENCH_LTTNG_PROVIDER_H
#include <lttng/tracepoint.h>
// clang-format off
LTTNG_UST_TRACEPOINT_EVENT(genscope_bench, begin, LTTNG_UST_TP_ARGS(int, site),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, site, site)))
LTTNG_UST_TRACEPOINT_EVENT(genscope_bench, end, LTTNG_UST_TP_ARGS(int, site),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, site, site)))
// clang-format on
#endif
#include <lttng/tracepoint-event.h>
