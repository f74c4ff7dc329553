#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "six.h"

#define EMIT(i) lttng_ust_tracepoint(bench, six, i, i, i, i, i, i)
#define START() 0
#include "rate.h"
