# The manual is left out: it needs makeinfo.
set -e
./configure
make -C lib
make version.c version.h
make gzip
