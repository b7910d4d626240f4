# Debian's own build makes every object twice, for C and for C++, by libtool;
# this makes the C interpreter with the same definitions.
set -e
cd src
rm -f luac.c
echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' > lua5.4-deb-multiarch.h
for source in *.c; do
    $CC -std=gnu99 $CFLAGS -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -c "$source"
done
$CC $LDFLAGS -Wl,-E -o lua ./*.o -lm -ldl
