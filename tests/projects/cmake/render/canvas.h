#pragma once

#include "curve.h"

#include <memory>
#include <string>
#include <vector>

class Canvas {
  public:
    Canvas(int width, int height);
    virtual ~Canvas();
    void draw(const curve &curve);
    std::string row(int y) const;

  private:
    int width, height;
    std::vector<std::string> rows;
    char *palette;
};

std::unique_ptr<Canvas> make_canvas(int width, int height);
