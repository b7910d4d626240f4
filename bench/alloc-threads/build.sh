set -e
$CC $CFLAGS $LDFLAGS -pthread -o alloc-threads alloc-threads.c
