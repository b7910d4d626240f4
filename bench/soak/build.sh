set -e
$CC $CFLAGS $LDFLAGS -o soak soak.c
