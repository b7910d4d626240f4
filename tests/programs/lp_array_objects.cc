// An array of objects with destructors is replaced without delete[]: the array is lost, and through it every trail.
// stdout: 6 particles, energy 6
#include <cstdio>

class Particle {
public:
    Particle() : trail_(new float[8]()) {}                 // indirect @trails: 4 blocks, 128 bytes
    ~Particle() { delete[] trail_; }
    void move(float step) {
        x_ += step;
        trail_[static_cast<int>(x_) % 8] = x_;             // last used @array; last used @trails
    }
    float energy() const { return x_ * x_; }

private:
    float x_ = 0;
    float *trail_;
};

class Emitter {
public:
    explicit Emitter(int count) { restart(count); }
    ~Emitter() { delete[] particles_; }

    void restart(int count) {
        Particle *fresh = new Particle[static_cast<unsigned>(count)];    // lost @array: 1 block, 72 bytes
        particles_ = fresh;                                // leaks @array: overwritten this->particles_; leaks @trails: overwritten this->particles_
        count_ = count;
    }
    void step(float by) {
        for (int i = 0; i < count_; i++)
            particles_[i].move(by);
    }
    float energy() const {
        float sum = 0;
        for (int i = 0; i < count_; i++)
            sum += particles_[i].energy();
        return sum;
    }
    int count() const { return count_; }

private:
    Particle *particles_ = nullptr;
    int count_ = 0;
};

int main() {
    Emitter emitter(4);
    emitter.step(1);
    emitter.restart(6);
    emitter.step(1);
    std::printf("%d particles, energy %.0f\n", emitter.count(), static_cast<double>(emitter.energy()));
    return 0;
}
