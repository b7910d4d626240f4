# Statically: Debian's Makefile links a libbz2.so that is found only once it is installed, and then is Debian's own build.
set -e
make libbz2.a bzip2.o CC="$CC" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64"
$CC $CFLAGS $LDFLAGS -o bzip2 bzip2.o libbz2.a
