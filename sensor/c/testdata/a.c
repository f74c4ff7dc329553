#include "meridian.h"
#include <stdio.h>
MERIDIAN_EVENT(http, request_done, (int64_t, id), (const char *, path), (double, seconds));
MERIDIAN_EVENT(http, nothing);
MERIDIAN_EVENT(all, all, (bool, b), (char, c), (signed char, sc), (unsigned short, us), (meridian_bytes, data), (float, f), (long long, ll), (uint64_t, u));
MERIDIAN_SLICE(http, handle, (int, n));
MERIDIAN_COUNTER(http, open_requests);
MERIDIAN_GAUGE(http, load);
MERIDIAN_MARK(http, rpc);
int main(void) {
	int e = meridian_start("server");
	if (e) { fprintf(stderr, "start: %s\n", strerror(e)); return 1; }
	MERIDIAN_EMIT(request_done, 42, "/index.html", 0.25);
	MERIDIAN_EMIT(nothing);
	meridian_bytes b = {"abc", 3};
	MERIDIAN_EMIT(all, true, 'x', -1, 65535, b, 1.5f, -5, 7);
	uint64_t s = MERIDIAN_BEGIN(handle, 3);
	MERIDIAN_END(handle, s);
	MERIDIAN_ADD(open_requests, 1);
	MERIDIAN_SET(open_requests, 5);
	MERIDIAN_SET(load, 0.5);
	struct meridian_tag t = meridian_new_tag();
	MERIDIAN_SEND(rpc, meridian_tag_number(t));
	meridian_receive(meridian_tag_number(t));
	puts(meridian_path());
	meridian_stop();
	return 0;
}
