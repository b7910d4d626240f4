// retain() and release() methods: a view retains its model, and takes another one without releasing the first.
// options: --explain
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// At the end the first model is counted with 1 reference and has 0 holders. Its maker's pointer dies last, but releases as it should.
// stdout: shown v1 v2 v2
#include <cstdio>

class Model {
public:
    Model(int version, const char *title) : version_(version), title_(title) {}

    void retain() { count_++; }
    void release() {
        if (--count_ == 0)
            delete this;                          // frees: 1 block
    }
    void print() const { std::printf(" %s%d", title_, version_); }

private:
    ~Model() = default;

    int count_ = 1;
    int version_;
    const char *title_;
};

class View {
public:
    ~View() {
        if (model_ != nullptr)
            model_->release();
    }

    void show(Model *model) {
        if (model_ == model)
            return;
        model->retain();
        model_ = model;                           // leaks: overwritten this->model_
    }
    void print() const { model_->print(); }

private:
    Model *model_ = nullptr;
};

class Library {
public:
    Library() {
        for (int i = 0; i < 2; i++)
            models_[i] = new Model(i + 1, "v");    // lost: 1 block, 16 bytes
    }
    ~Library() {
        for (Model *model : models_)
            model->release();
    }
    Model *newest(int limit) const { return limit > 1 ? models_[1] : models_[0]; }

private:
    Model *models_[2];
};

int main() {
    Library library;
    View view;
    std::printf("shown");
    for (int limit = 1; limit <= 3; limit++) {
        view.show(library.newest(limit));
        view.print();
    }
    std::printf("\n");
    return 0;
}
