// An undo history drops edits by pop_back() and by resize(): both end an element that was the only owner.
// valgrind -O2: differs: a vector leaves what it drops in its buffer, until that is written over or freed
// stdout: value 15, history 2
#include <cstdio>
#include <vector>

struct Edit {
    long position;
    int delta;
};

class Editor {
public:
    Editor() { edits_.reserve(8); }
    ~Editor() {
        for (Edit *edit : edits_)
            delete edit;
    }

    void edit(long position, int delta) {
        edits_.resize(done_);                      // leaks @redo: holder-freed this->edits_
        Edit *edit = new Edit{position, delta};    // lost @redo: 2 blocks, 32 bytes; lost @revoked: 1 block, 16 bytes
        edits_.push_back(edit);
        done_++;
        value_ += delta;
    }

    void undo() {
        done_--;
        value_ -= edits_[done_]->delta;            // last used @redo
    }

    void revoke() {
        value_ -= edits_.back()->delta;            // last used @revoked
        edits_.pop_back();                         // leaks @revoked: holder-freed this->edits_
        done_--;
    }

    void summary() const { std::printf("value %d, history %zu\n", value_, edits_.size()); }

private:
    std::vector<Edit *> edits_;
    std::size_t done_ = 0;
    int value_ = 0;
};

int main() {
    Editor editor;
    editor.edit(0, 10);
    editor.edit(1, 20);
    editor.edit(2, 40);
    editor.undo();
    editor.undo();
    editor.edit(1, 5);     // 20 and 40 can no longer be redone
    editor.edit(2, 9);
    editor.revoke();
    editor.summary();
    return 0;
}
