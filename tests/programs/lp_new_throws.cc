// A constructor's body throws after a raw array was made and before it is owned: the object's destructor never runs.
// valgrind -O2: differs: gcc inlines the constructor, and its debug information has no line for the throw: the line of new is told
// stdout: caught bad size
#include <cstdio>
#include <stdexcept>
#include <string>

class Sampler {
public:
    explicit Sampler(int size) {
        table_ = new float[8];                            // lost: 1 block, 32 bytes
        for (int i = 0; i < 8; i++)
            table_[i] = 1.0f / static_cast<float>(i + 1); // last used
        if (size < 0)
            throw std::invalid_argument("bad size");      // leaks: unwound ?
        size_ = size;
    }
    ~Sampler() { delete[] table_; }
    float at(int i) const { return table_[i % size_]; }

private:
    float *table_ = nullptr;
    int size_ = 0;
};

int main() {
    try {
        Sampler *s = new Sampler(-1);
        std::printf("%f\n", s->at(1));
        delete s;
    } catch (const std::invalid_argument &e) {
        std::printf("caught %s\n", e.what());
    }
    return 0;
}
