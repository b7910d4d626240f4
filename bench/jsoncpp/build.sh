set -e
for source in src/lib_json/*.cpp src/jsontestrunner/main.cpp; do
    $CXX -std=c++11 $CFLAGS -Iinclude -c "$source"
done
$CXX $LDFLAGS -o jsontestrunner ./*.o
