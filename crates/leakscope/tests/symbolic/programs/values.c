#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ctype.h>
#include <stdint.h>
#include <unistd.h>
struct rec { uint16_t tag; uint32_t len; char name[8]; };
struct two { long a; int b; };
static struct two mk(long a, int b) { struct two t = { a, b }; return t; }
struct big { int v[8]; };
static int sum(struct big b) { int s = 0; for (int i = 0; i < 8; i++) s += b.v[i]; return s; }
static int table[256];
static int fn1(int x) { return x + 1; }
static int fn2(int x) { return x * 2; }
int (*fns[2])(int) = { fn1, fn2 };
static int cmp(const void *a, const void *b) { return *(char*)a - *(char*)b; }
static uint32_t crc(const unsigned char *p, size_t n) { uint32_t c = ~0u; for (size_t i = 0; i < n; i++) { c ^= p[i]; for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ 0xEDB88320u : c >> 1; } return ~c; }
int main(int argc, char **argv) {
  char buf[64]; unsigned char raw[64];
  for (int i = 0; i < 256; i++) table[i] = i * i % 77;
  char *line = 0; size_t cap = 0; ssize_t n;
  n = getline(&line, &cap, stdin); printf("%zd %s", n, line);
  if (n > 3 && line[2] == 'l') puts("l");
  if (fgets(buf, sizeof buf, stdin)) { if (strchr(buf, '=')) puts("eq"); char *t = strtok(buf, " ="); while (t) { if (!strcmp(t, "key")) puts("key"); t = strtok(0, " =\n"); } }
  size_t r = fread(raw, 1, 20, stdin);
  if (r == 20) puts("20");
  struct rec q; memcpy(&q, raw, sizeof q);
  if (q.tag == 0x3231) puts("tag");
  if (q.len > 1000 && q.len < 0x40000000) puts("len");
  struct two tw = mk(q.len, raw[3]); if (tw.a > 70 && tw.b == 'q') puts("two");
  struct big b; for (int i = 0; i < 8; i++) b.v[i] = raw[i]; if (sum(b) == 500) puts("sum");
  if (table[raw[4]] == 33) puts("table");
  if (fns[raw[5] & 1](raw[6]) == 100) puts("fn");
  if (crc(raw, 4) == 0xdeadbeef) puts("crc");
  int8_t s = (int8_t)raw[7]; if (s < 0) puts("neg"); if (s / 3 == 7) puts("div"); if (s % 5 == 2) puts("rem");
  uint64_t w; memcpy(&w, raw + 8, 8); if ((w >> 12 & 0xff) == 0x41) puts("w"); if (__builtin_bswap64(w) > 0x6000000000000000ull) puts("sw");
  int ov; if (__builtin_add_overflow((int)w, 0x7fffff00, &ov)) puts("ov");
  qsort(raw, 8, 1, cmp); if (raw[0] == 'a') puts("sorted");
  char *d = strdup(line); for (char *p = d; *p; p++) *p = toupper(*p); if (!strncmp(d, "HELLO", 5)) puts("HELLO"); free(d);
  if (argc > 1) { char *e; long v = strtol(argv[1], &e, 0); if (*e) puts("bad"); else if (v > 1000) puts("big"); else if (v < -5) puts("small"); }
  if (argc > 2 && strcasecmp(argv[2], "yes") == 0) puts("yes");
  if (argc > 2 && strstr(argv[2], "ab")) puts("ab");
  int c; while ((c = getc_unlocked(stdin)) != EOF) if (c == 'z') { ungetc('y', stdin); if (getchar() == 'y') puts("y"); }
  double f = raw[0]; if (f > 50.0) puts("float");
  line = realloc(line, 300); if (line[1] == 'e') puts("re");
  free(line);
  return raw[1] == 'b';
}
