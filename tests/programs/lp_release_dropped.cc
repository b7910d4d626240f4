// release() was written where reset() was meant: the call gives the job away and nobody takes it.
// valgrind: differs: the result that nobody keeps was in a local of release() before, which is written over by the next call
// stdout: finished 3, cancelled 2
#include <cstdio>
#include <memory>

struct Job {
    Job(int id, int steps) : id(id), steps(steps) {}
    int id;
    int steps;
    double progress = 0;
};

class Worker {
public:
    void assign(int id, int steps) {
        current_ = std::make_unique<Job>(id, steps);    // lost: 2 blocks, 32 bytes
    }

    bool step() {
        current_->progress += 1.0 / current_->steps;
        if (current_->progress < 0.99)
            return false;
        finished_++;
        current_.reset();                               // frees: 3 blocks
        return true;
    }

    void cancel() {
        cancelled_++;
        current_.release();                             // leaks: discarded ?
    }

    void summary() const { std::printf("finished %d, cancelled %d\n", finished_, cancelled_); }

private:
    std::unique_ptr<Job> current_;
    int finished_ = 0;
    int cancelled_ = 0;
};

int main() {
    Worker worker;
    for (int id = 0; id < 5; id++) {
        worker.assign(id, 2 + id % 3);
        for (int tick = 0; tick < 4; tick++) {
            if (id % 2 == 1 && tick == 1) {
                worker.cancel();
                break;
            }
            if (worker.step())
                break;
        }
    }
    worker.summary();
    return 0;
}
