#include "textflag.h"

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	DMB $0xb // ISH: everything before, everything after, for all processors that share the memory
	RET
