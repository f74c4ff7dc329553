/*
 * Fires tracepoints when told to, and says how long it took: "six 1000" or "off 1000" on a line of standard input is
 * answered by a line with nanoseconds. First of all it says whether six is enabled: "1" or "0".
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "six.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	char which[8];
	long n;

	printf("%d\n", lttng_ust_tracepoint_enabled(meridian_bench, six) ? 1 : 0);
	fflush(stdout);
	while (scanf("%7s %ld", which, &n) == 2) {
		int64_t start = now();

		if (strcmp(which, "six") == 0)
			for (int64_t i = 0; i < n; i++)
				lttng_ust_tracepoint(meridian_bench, six, i, i + 1, i + 2, i + 3, i + 4, i + 5);
		else
			for (int64_t i = 0; i < n; i++)
				lttng_ust_tracepoint(meridian_bench, off, i, i + 1, i + 2, i + 3, i + 4, i + 5);
		printf("%lld\n", (long long)(now() - start));
		fflush(stdout);
	}
	return 0;
}
