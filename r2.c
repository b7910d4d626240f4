#include <stdlib.h>
#include <string.h>
int split(const char *s, int *argcp, char ***argvp)
{
	int r = -1;
	int argc = 0, quote, i, j;
	char *arg, **argv = calloc(1, sizeof(*argv));
	if (!argv) abort();
	*argvp = NULL;
	*argcp = 0;
	for (i = 0; s[i] != '\0'; i++) {
		if (s[i] == ' ') continue;
		if (s[i] == '#') break;
		quote = 0;
		argv = realloc(argv, (argc + 2) * sizeof(*argv));
		if (!argv) abort();
		arg = argv[argc++] = calloc(1, strlen(s + i) + 1);
		if (!arg) abort();
		argv[argc] = NULL;
		for (j = 0; s[i] != '\0'; i++) {
			if (quote == 0 && s[i] == ' ') break;
			else if (s[i] == '"') quote = !quote;
			else arg[j++] = s[i];
		}
		if (s[i] == '\0') {
			if (quote != 0) { r = -2; goto out; }
			break;
		}
	}
	*argcp = argc;
	*argvp = argv;
	argc = 0;
	argv = NULL;
	r = 0;
out:
	if (argc != 0 && argv != NULL) {
		for (i = 0; i < argc; i++)
			free(argv[i]);
		free(argv);
	}
	return r;
}
