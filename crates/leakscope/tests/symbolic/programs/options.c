#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <getopt.h>
int main(int argc, char **argv) {
  static int flag;
  struct option lo[] = {{"verbose",0,0,'v'},{"output",1,0,'o'},{"level",2,0,'l'},{"flag",0,&flag,7},{"lever",0,0,1000},{0,0,0,0}};
  int c, ix;
  while ((c = getopt_long(argc, argv, "vo:l::xq", lo, &ix)) != -1) {
    switch (c) { case 'v': puts("v"); break; case 'o': printf("o %s\n", optarg); if (optarg[0]=='Z') puts("Z"); break; case 'l': printf("l %s\n", optarg ? optarg : "-"); break; case 0: puts("flag"); break; case 1000: puts("lever"); break; case '?': puts("?"); break; default: printf("%d\n", c); }
  }
  for (int i = optind; i < argc; i++) printf("arg %s\n", argv[i]);
  int a, b, n; unsigned x; char w[20], ch;
  n = scanf("%d %d", &a, &b); printf("%d\n", n); if (n == 2 && a > b) puts("gt"); if (n==2 && a * b == 391) puts("391");
  n = scanf(" %x,%19s %c", &x, w, &ch); printf("%d\n", n); if (n == 3) { if (x == 0xbeef) puts("beef"); if (!strcmp(w, "word")) puts("word"); if (ch == 'q') puts("q"); }
  if (sscanf("k=17;rest", "%[a-z]=%d;%n", w, &a, &b) == 2) printf("%s %d %d\n", w, a, b);
  double d; if (scanf("%lf", &d) == 1) printf("%g\n", d);
  if (argc > 1 && sscanf(argv[argc-1], "%d:%d", &a, &b) == 2 && a + b == 10) puts("ten");
  return 0;
}
