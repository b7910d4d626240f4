// The base class has no virtual destructor: the drawing deletes its shapes, but ~Polygon never runs.
// stdout: area 18.0
#pragma GCC diagnostic ignored "-Wdelete-non-virtual-dtor"    // the mistake that this is about
#include <cstdio>
#include <memory>
#include <vector>

struct Shape {
    virtual double area() const = 0;
    int layer = 0;
};

struct Square : Shape {
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
    double side;
};

class Polygon : public Shape {
public:
    Polygon(double width, double height) : count_(4) {
        points_ = new double[8]{0, 0, width, 0, width, height, 0, height};    // lost: 2 blocks, 128 bytes
    }
    ~Polygon() { delete[] points_; }

    double area() const override {
        double twice = 0;
        for (int i = 0; i < count_; i++) {
            const double *a = points_ + 2 * i, *b = points_ + 2 * ((i + 1) % count_);
            twice += a[0] * b[1] - b[0] * a[1];                               // last used
        }
        return twice / 2;
    }

private:
    double *points_;
    int count_;
};

class Drawing {
public:
    void add(Shape *shape) { shapes_.emplace_back(shape); }
    void clear() {
        shapes_.clear();                                                      // leaks: holder-freed ?
    }
    double area() const {
        double sum = 0;
        for (const auto &shape : shapes_)
            sum += shape->area();
        return sum;
    }

private:
    std::vector<std::unique_ptr<Shape>> shapes_;
};

int main() {
    Drawing drawing;
    drawing.add(new Square(2));
    drawing.add(new Polygon(4, 2));
    drawing.add(new Polygon(3, 2));
    std::printf("area %.1f\n", drawing.area());
    drawing.clear();
    return 0;
}
