#include "shape.h"

#include <cstdlib>

class Keeper : public Shape {
public:
    ~Keeper() override { free(kept); }
    void own(char *name) override
    {
        free(kept);
        kept = name;
    }

private:
    char *kept = nullptr;
};

class Ignorer : public Shape {
public:
    void own(char *) override {}
};

Shape *make_keeper()
{
    return new Keeper;
}

Shape *make_ignorer()
{
    return new Ignorer; // alloc @ignorer
}
