# With libc's heap, so that the tools' heaps can take its place.
set -e
make -C src redis-server MALLOC=libc CC="$CC" OPTIMIZATION= CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" V=1
