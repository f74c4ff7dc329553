// A program that loads a library (LIBRARY) with a declaration for which its ring has no room, and forks then. It must be linked
// with -rdynamic.
#include "units.h"
#include "start.h"

#include <dlfcn.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
	(void)argc;
	start(argv);
	void *l = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	void (*call)(void);
	void *found = l ? dlsym(l, "other_unit") : NULL;
	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	memcpy(&call, &found, sizeof call);
	printf("%d\n", meridian_switch("*", true));
	call();
	pid_t child = fork();
	if (child == 0) {
		meridian_switch("*", true);
		call();
		meridian_stop();
		_exit(*meridian_path() == 0);
	}
	int status;
	waitpid(child, &status, 0);
	meridian_stop();
	return status;
}
