// Declarations that two units of a program share, one in C and one in C++.
#ifndef UNITS_H
#define UNITS_H
#include "meridian.h"
MERIDIAN_EVENT(units, shared, (int, unit));
MERIDIAN_COUNTER(units, shared_count);
#ifdef __cplusplus
extern "C"
#endif
void other_unit(void);
#endif
