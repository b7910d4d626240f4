set -e
./configure --disable-shared --disable-tcl --disable-readline
make sqlite3
