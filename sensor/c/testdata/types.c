// Every type of field at its extremes, and every other kind of event. With MERIDIAN_TEST_CLOCK the ring is the same in each
// run.
#include "start.h"

#include <float.h>

MERIDIAN_EVENT(types, nothing);
MERIDIAN_EVENT(types, small, (bool, b), (signed char, i8), (unsigned char, u8), (short, i16), (unsigned short, u16));
MERIDIAN_EVENT(types, large, (int, i32), (unsigned int, u32), (long, l), (unsigned long, ul), (long long, ll),
	(unsigned long long, ull));
MERIDIAN_EVENT(types.more, fixed, (int8_t, a), (uint8_t, b), (int16_t, c), (uint16_t, d), (int32_t, e), (uint32_t, f),
	(int64_t, g), (uint64_t, h));
MERIDIAN_EVENT(types.more, floats, (float, f), (double, d));
MERIDIAN_EVENT(types.more, texts, (const char *, text), (meridian_bytes, data), (char *, writable), (size_t, last));
MERIDIAN_SLICE(work, step, (int32_t, n));
MERIDIAN_SLICE(work, bare);
MERIDIAN_COUNTER(work, done);
MERIDIAN_GAUGE(work, load);
MERIDIAN_MARK(work, rpc);

static meridian_bytes bytes(const void *data, size_t length) {
	meridian_bytes b;
	b.data = data;
	b.length = length;
	return b;
}

int main(int argc, char **argv) {
	char writable[] = "w\xc3\xa4", *longest = (char *)malloc(5001);
	(void)argc;
	start(argv);
	MERIDIAN_EMIT(nothing);
	MERIDIAN_EMIT(small, false, SCHAR_MIN, 0, SHRT_MIN, 0);
	MERIDIAN_EMIT(small, true, SCHAR_MAX, UCHAR_MAX, SHRT_MAX, USHRT_MAX);
	MERIDIAN_EMIT(large, INT_MIN, 0, LONG_MIN, 0, LLONG_MIN, 0);
	MERIDIAN_EMIT(large, INT_MAX, UINT_MAX, LONG_MAX, ULONG_MAX, LLONG_MAX, ULLONG_MAX);
	MERIDIAN_EMIT(fixed, -1, 2, -3, 4, -5, 6, -7, 8);
	MERIDIAN_EMIT(floats, FLT_MAX, -DBL_MIN);
	MERIDIAN_EMIT(texts, "", bytes(NULL, 0), writable, 7);
	MERIDIAN_EMIT(texts, NULL, bytes("\0\xff", 2), NULL, SIZE_MAX);
	uint64_t outer = MERIDIAN_BEGIN(step, 3), inner = MERIDIAN_BEGIN(bare);
	MERIDIAN_END(step, outer);
	MERIDIAN_END(bare, inner);
	MERIDIAN_END(bare, 0);
	MERIDIAN_ADD(done, 2);
	MERIDIAN_ADD(done, -3);
	MERIDIAN_SET(done, 9);
	MERIDIAN_SET(load, 0.5);
	MERIDIAN_SEND(rpc, 77);
	MERIDIAN_RECEIVE(rpc, 0);
	meridian_receive(78);
	memset(longest, 'x', 5000);
	longest[5000] = 0;
	memcpy(longest + 4092, "\xe2\x82\xac", 3); // a character that is not cut in two
	if (argument("long", 1)) MERIDIAN_EMIT(texts, longest, bytes(longest, 5000), longest + 4000, 1);
	for (unsigned long i = 0; i < argument("n", 0); i++)
		MERIDIAN_EMIT(fixed, (int8_t)i, 0, (int16_t)i, 0, 0, (uint32_t)i, (int64_t)i, i);
	free(longest);
	meridian_stop();
	MERIDIAN_EMIT(nothing); // is off
	return 0;
}
