// The unit in C; before the start nothing is on.
#include "units.h"
#include "start.h"

MERIDIAN_EVENT(units, own, (int, i)); // of the same name as the other unit's, and another one

int main(int argc, char **argv) {
	(void)argc;
	MERIDIAN_EMIT(shared, 0);
	MERIDIAN_ADD(shared_count, 1);
	start(argv);
	MERIDIAN_EMIT(shared, 1);
	MERIDIAN_ADD(shared_count, 1);
	other_unit();
	MERIDIAN_EMIT(own, 7);
	if (meridian_start("again") != EALREADY) return 1;
	meridian_stop();
	if (meridian_start("again") != EALREADY) return 1;
	return 0;
}
