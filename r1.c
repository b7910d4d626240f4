#include <stdlib.h>
#include <string.h>
struct options { int num; char *files[10]; int user[10]; };
void add(struct options *options, const char *path, int userprovided)
{
	int i;
	if (options->num >= 10) abort();
	for (i = 0; i < options->num; i++) {
		if (options->user[i] == userprovided && strcmp(options->files[i], path) == 0)
			return;
	}
	options->user[options->num] = userprovided;
	options->files[options->num++] = strdup(path);
}
