set -e
./configure --cc="$CC" --extra-cflags="$CFLAGS" --extra-ldflags="$LDFLAGS" --triplet=x86_64-linux-gnu
make tcc
