// A program that loads and unloads DIR/library.so twice, with events before, within and after. It must be linked with
// -rdynamic, so that the library finds the program's state.
#include "units.h"
#include "start.h"

#include <dlfcn.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
	(void)argc;
	start(argv);
	const char *library = getenv("LIBRARY");
	MERIDIAN_EMIT(shared, 1);
	for (int i = 0; i < 2; i++) {
		void *l = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		if (!l) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		void (*call)(void);
		void *found = dlsym(l, "other_unit");
		memcpy(&call, &found, sizeof call);
		call();
		dlclose(l);
	}
	MERIDIAN_ADD(shared_count, 1);
	pid_t child = fork(); // goes over all classes
	if (child == 0) _exit(0);
	int status;
	waitpid(child, &status, 0);
	meridian_switch("*", false);
	meridian_stop();
	return status;
}
