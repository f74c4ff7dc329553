#include "meridian.h"
MERIDIAN_EVENT(bench, six, (int64_t, a), (int64_t, b), (int64_t, c), (int64_t, d), (int64_t, e), (int64_t, f));

#define EMIT(i) MERIDIAN_EMIT(six, i, i, i, i, i, i)
#define START() meridian_start("bench")
#include "rate.h"
