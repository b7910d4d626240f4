set -e
$CC $CFLAGS $LDFLAGS -o alloc alloc.c
