// An interface whose classes are in other files.
class Shape {
public:
    virtual ~Shape() {}
    virtual void own(char *name) = 0;
};

Shape *make_keeper();
Shape *make_ignorer();
