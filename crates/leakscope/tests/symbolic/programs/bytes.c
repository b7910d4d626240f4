#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ctype.h>
int main(int argc, char **argv) {
  if (argc > 1 && argv[1][0] == 'a') puts("a");
  if (argc > 1 && strcmp(argv[1], "help") == 0) puts("help");
  if (argc > 1 && strlen(argv[1]) > 5) puts("long");
  int c, n = 0, words = 0, in = 0; unsigned h = 0;
  while ((c = getchar()) != EOF) { h = h * 31 + c; if (c == '\n') n++; if (isspace(c)) in = 0; else if (!in) { in = 1; words++; } }
  printf("%d %d\n", n, words);
  if (h == 12345) puts("hash");
  if (argc > 2) { int k = atoi(argv[2]); char *p = malloc(k + 1); p[0] = 'x'; if (k * 3 == 21) puts("seven"); switch (k) { case 1: puts("one"); break; case 5: puts("five"); break; default: break; } if (k != 9) free(p); }
  return 0;
}
