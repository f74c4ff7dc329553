// The unit in C++.
#include "units.h"

namespace {
MERIDIAN_EVENT(units, own, (const char *, language), (bool, yes));
MERIDIAN_SLICE(units, scope, (long, n));
} // namespace

void other_unit() {
	MERIDIAN_EMIT(shared, 2);
	MERIDIAN_ADD(shared_count, 10);
	if (MERIDIAN_ON(own)) MERIDIAN_EMIT(own, "C++", true);
	auto s = MERIDIAN_BEGIN(scope, 5);
	MERIDIAN_END(scope, s);
}
