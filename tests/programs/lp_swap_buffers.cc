// Two frames change places by std::swap; on a change of size only the front one is deleted before both are replaced.
// valgrind-variable -O2: differs: gcc inlines resize, where this is main's screen
// stdout: 3 frames shown, checksum 96
#include <cstdio>
#include <cstring>
#include <utility>

struct Frame {
    explicit Frame(int side) : side(side) { std::memset(pixels, 0, sizeof pixels); }
    int side;
    unsigned char pixels[60];
};

class Screen {
public:
    explicit Screen(int side) : front_(make_frame(side)), back_(make_frame(side)) {}
    ~Screen() {
        delete front_;
        delete back_;
    }

    void draw(unsigned char ink) {
        for (int i = 0; i < back_->side; i++)
            back_->pixels[i] = ink;
    }

    unsigned present() {
        std::swap(front_, back_);
        shown_++;
        unsigned sum = 0;
        for (int i = 0; i < front_->side; i++)
            sum += front_->pixels[i];
        return sum;
    }

    void resize(int side) {
        delete front_;
        front_ = make_frame(side);
        back_ = make_frame(side);    // leaks: overwritten this->back_
    }

    int shown() const { return shown_; }

private:
    static Frame *make_frame(int side) {
        return new Frame(side);      // lost: 1 block, 64 bytes
    }

    Frame *front_;
    Frame *back_;
    int shown_ = 0;
};

int main() {
    Screen screen(8);
    unsigned checksum = 0;
    screen.draw(1);
    checksum += screen.present();
    screen.draw(3);
    checksum += screen.present();
    screen.resize(16);
    screen.draw(4);
    checksum += screen.present();
    std::printf("%d frames shown, checksum %u\n", screen.shown(), checksum);
    return 0;
}
