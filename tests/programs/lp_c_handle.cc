// A class around a C handle: opening it a second time overwrites the first handle instead of closing it.
// valgrind -O2: differs: gcc keeps handle_ in a register, which the malloc of codec_open, inlined into open, is the first to overwrite
// stdout: gzip 6, zstd 3
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
struct codec {
    char *name;
    int level;
    long consumed;
};

static codec *codec_open(const char *name, int level) {
    codec *handle = static_cast<codec *>(std::malloc(sizeof *handle));    // lost @codec: 1 block, 24 bytes
    if (handle == nullptr)
        return nullptr;
    handle->name = strdup(name);                 // indirect @name: 1 block, 5 bytes
    handle->level = level;
    handle->consumed = 0;
    return handle;
}

static void codec_close(codec *handle) {
    if (handle == nullptr)
        return;
    std::free(handle->name);
    std::free(handle);
}
}

class Codec {
public:
    Codec() = default;
    Codec(const Codec &) = delete;
    Codec &operator=(const Codec &) = delete;
    ~Codec() { codec_close(handle_); }

    bool open(const char *name, int level) {
        handle_ = codec_open(name, level);       // leaks @codec: overwritten this->handle_; leaks @name: overwritten this->handle_
        return handle_ != nullptr;
    }
    const char *name() const {
        return handle_->name;                    // last used @codec
    }
    int level() const { return handle_->level; }

private:
    codec *handle_ = nullptr;
};

static void describe(const Codec &codec, const char *end) {
    int level = codec.level();
    std::printf("%s %d%s", codec.name(), level, end);    // last used @name
}

int main() {
    Codec codec;
    if (!codec.open("gzip", 6))
        return 1;
    describe(codec, ", ");
    if (!codec.open("zstd", 3))
        return 1;
    describe(codec, "\n");
    return 0;
}
