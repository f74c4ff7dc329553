#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./six.h"
#if !defined(SIX_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SIX_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(bench, six, LTTNG_UST_TP_ARGS(long, a, long, b, long, c, long, d, long, e, long, f),
 LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, a, a) lttng_ust_field_integer(long, b, b) lttng_ust_field_integer(long, c, c)
 lttng_ust_field_integer(long, d, d) lttng_ust_field_integer(long, e, e) lttng_ust_field_integer(long, f, f)))
#endif
#include <lttng/tracepoint-event.h>
