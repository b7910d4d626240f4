// A truncated image throws three frames down: raw buffers in two of the skipped frames are lost, the guard is not.
// valgrind -O2: differs: gcc inlines all into main, which no throw leaves: pixels and deltas are in registers that the throw itself needs
// stdout: truncated at 7
// stdout: depth 0, 1 decoded
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

static int depth;

struct DepthGuard {
    DepthGuard() { depth++; }
    ~DepthGuard() { depth--; }
};

class Decoder {
public:
    explicit Decoder(std::string bytes) : bytes_(std::move(bytes)) {}

    int decode(int width, int height) {
        DepthGuard guard;
        unsigned char *pixels = new unsigned char[40];    // lost @pixels: 1 block, 40 bytes
        for (int y = 0; y < height; y++)
            decode_row(pixels + y * width, width);        // last used @pixels
        int sum = 0;
        for (int i = 0; i < width * height; i++)
            sum += pixels[i];
        delete[] pixels;                                  // frees @pixels: 1 block
        return sum;
    }

private:
    void decode_row(unsigned char *row, int width) {
        DepthGuard guard;
        std::vector<int> weights(static_cast<std::size_t>(width), 1);
        short *deltas = new short[4];                     // lost @deltas: 1 block, 8 bytes
        for (int x = 0; x < width; x++)
            deltas[x] = next();                           // last used @deltas
        row[0] = static_cast<unsigned char>(deltas[0]);
        for (int x = 1; x < width; x++)
            row[x] = static_cast<unsigned char>(row[x - 1] + weights[0] * deltas[x]);
        delete[] deltas;                                  // frees @deltas: 4 blocks
    }

    short next() {
        if (at_ == bytes_.size())
            throw std::runtime_error("truncated at " + std::to_string(at_));    // leaks @pixels: unwound pixels; leaks @deltas: unwound deltas
        return static_cast<short>(bytes_[at_++] - '0');
    }

    std::string bytes_;
    std::size_t at_ = 0;
};

int main() {
    int decoded = 0;
    for (const char *bytes : {"111122223333", "1111222"}) {
        try {
            Decoder(bytes).decode(4, 3);
            decoded++;
        } catch (const std::exception &error) {
            std::printf("%s\n", error.what());
        }
    }
    std::printf("depth %d, %d decoded\n", depth, decoded);
    return 0;
}
