#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
static int mine(char *to, size_t n, const char *f, ...) { va_list l; va_start(l, f); int r = vsnprintf(to, n, f, l); va_end(l); return r; }
int main(int argc, char **argv) {
  char b[200], *p; const char *a = argc > 1 ? argv[1] : "x"; int n = argc > 2 ? atoi(argv[2]) : 0;
  sprintf(b, "key:%s=%d;%c|", a, n, a[0]); puts(b); if (strcmp(b, "key:abc=42;a|") == 0) puts("same"); if (b[4] == 'q') puts("q");
  snprintf(b, 12, "%-6s|%5.2s|%f", a, a, 2.5); puts(b); if (b[0] == 'a') puts("a"); if (b[10] == 'b') puts("b");
  snprintf(b, sizeof b, "%*d %.*s %lu %x %5d%%", 6, n, 2, a, (unsigned long)n, n, n); puts(b); if (b[8] == 'b') puts("bb"); if (b[10] == '4') puts("4");
  if (asprintf(&p, "%s%s%g%s", a, "-", 1e10, a) > 0) { puts(p); if (p[strlen(a) + 1] == '1') puts("1"); if (p[strlen(p) - 1] == 'c') puts("c"); free(p); }
  mine(b, 20, "<%s>%s %s %s %s %s %d %f %d", a, "1", "2", "3", "4", "5", 6, 7.5, 8); puts(b); if (b[1] == 'a') puts("va");
  return 0; }
