#include "canvas.h"

#include <cstdlib>
#include <cstring>

Canvas::Canvas(int width, int height) : width(width), height(height), rows(height, std::string(width, ' ')) {
    palette = new char[16];
    std::memcpy(palette, "*+o#@%&=*+o#@%&", 16);
}

Canvas::~Canvas() = default;

void Canvas::draw(const curve &curve) {
    bounds *box = curve_bounds(&curve);
    double tall = box->high.y - box->low.y;
    if (tall <= 0)
        return;
    for (int i = 0; i < curve.count; i++) {
        int column = i * (width - 1) / (curve.count - 1);
        int line = static_cast<int>((height - 1) * (curve.points[i].y - box->low.y) / tall);
        rows[height - 1 - line][column] = palette[0];
    }
    std::free(box);
}

std::string Canvas::row(int y) const { return rows.at(y); }

std::unique_ptr<Canvas> make_canvas(int width, int height) { return std::make_unique<Canvas>(width, height); }
