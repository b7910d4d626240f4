#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <wchar.h>
#include <wctype.h>
static uint32_t tab[256];
static void init(void) { for (unsigned i = 0; i < 256; i++) { uint32_t c = i; for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1; tab[i] = c; } }
static int cmp(const void *a, const void *b) { return *(int*)a - *(int*)b; }
static int f0(int x) { return x; } static int f1(int x) { return x + 5; }
int main(int argc, char **argv) {
  init(); unsigned char b[16]; size_t n = fread(b, 1, 16, stdin);
  uint32_t c = ~0u; for (size_t i = 0; i < n; i++) c = tab[(c ^ b[i]) & 0xff] ^ c >> 8; c = ~c;
  if (c == 0x12345678) puts("crc");
  int v[8]; for (int i = 0; i < 8; i++) v[i] = b[i] * 3; qsort(v, 8, sizeof *v, cmp); if (v[3] == 300) puts("median");
  int (*t[2])(int) = { f0, f1 }; if (t[b[3] & 1](b[4]) > 90) puts("t");
  int h[256] = {0}; for (int i = 0; i < 8; i++) h[b[i]]++; if (h['l'] == 2) puts("ll");
  wchar_t w; mbstate_t st; memset(&st, 0, sizeof st); if (mbrtowc(&w, (char*)b, 4, &st) == 1 && iswalpha(w)) puts("walpha");
  static const char *names[] = { "zero", "one", "two", "three" }; if (argc > 1) { unsigned k = (argv[1][0] ^ argv[1][1]) & 3; if (names[k][1] == 'w') puts("two"); }
  printf("%08x\n", c); return 0; }
