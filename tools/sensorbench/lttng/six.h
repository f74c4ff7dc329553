/* A tracepoint of six integers, and one of the same fields that nobody enables. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER meridian_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./six.h"

#if !defined(SIX_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SIX_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(meridian_bench, six_integers,
	LTTNG_UST_TP_ARGS(int64_t, a, int64_t, b, int64_t, c, int64_t, d, int64_t, e, int64_t, f),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int64_t, a, a)
		lttng_ust_field_integer(int64_t, b, b)
		lttng_ust_field_integer(int64_t, c, c)
		lttng_ust_field_integer(int64_t, d, d)
		lttng_ust_field_integer(int64_t, e, e)
		lttng_ust_field_integer(int64_t, f, f)
	)
)

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(meridian_bench, six_integers, meridian_bench, six,
	LTTNG_UST_TP_ARGS(int64_t, a, int64_t, b, int64_t, c, int64_t, d, int64_t, e, int64_t, f))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(meridian_bench, six_integers, meridian_bench, off,
	LTTNG_UST_TP_ARGS(int64_t, a, int64_t, b, int64_t, c, int64_t, d, int64_t, e, int64_t, f))

#endif

#include <lttng/tracepoint-event.h>
