/* Fires tracepoints with every type of field, with values that are hard to print. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "every_field.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	static const int64_t integers[] = {0, 1, -1, 42, INT64_MIN, INT64_MAX, 0x8000, -129, 0xdeadbeef};
	static const double floats[] = {0, -0.0, 1.5, -2.25, 1e6, 1234567, 1e-5, 123456.5, 3.14159265358979, DBL_MAX,
		DBL_MIN, INFINITY, -INFINITY, NAN, 100000, 0.1};
	static const char *texts[] = {"", "plain", "a \"quoted\" one", "back\\slash?", "tab\there\nand more\r\x1b\x07\x01", "gr\xc3\xbc\xc3\x9f"};
	static const int32_t numbers[] = {1, -2, 3, -4, 5, 6, 7, 8};
	static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xab, 0xff, 9, 10};
	static const int16_t shorts[] = {0x102, 0x304, -5, 6, 7, 8, 9, 10};
	char fixed[8];

	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
			lttng_ust_tracepoint(meridian_test, integers, integers[i] + round * 1000);
		for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
			lttng_ust_tracepoint(meridian_test, floats, floats[i], floats[i]);
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
			memset(fixed, 0, sizeof fixed);
			strncpy(fixed, texts[i], sizeof fixed - 1);
			lttng_ust_tracepoint(meridian_test, texts, texts[i], fixed, strlen(texts[i]) * 2 / 3);
		}
		for (size_t n = 0; n <= 8; n++)
			lttng_ust_tracepoint(meridian_test, arrays, numbers, n, bytes, shorts);
		for (int v = 0; v < 45; v += 3)
			lttng_ust_tracepoint(meridian_test, enumerations, v);
		for (int v = 1; v < 3; v++)
			lttng_ust_tracepoint(meridian_test, enumerations, v);
		lttng_ust_tracepoint(meridian_test, nothing);
	}
	puts("done");
	return 0;
}
