// A library with events of its own, loaded and unloaded by loader.c.
#include "units.h"
MERIDIAN_EVENT(library, loaded, (int, times));
__attribute__((visibility("default"))) void other_unit(void) {
	static int times;
	MERIDIAN_EMIT(loaded, ++times);
	MERIDIAN_EMIT(shared, 3);
	MERIDIAN_ADD(shared_count, 100);
}
