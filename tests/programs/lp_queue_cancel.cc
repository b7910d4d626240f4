// Cancelling pops the jobs off a queue without running or deleting them.
// valgrind: differs: functions of the C++ library's headers are functions of the program's own, whose memory is freed later
// stdout: 2 run, 3 cancelled
#include <cstdio>
#include <queue>

struct Job {
    int number;
    int cost;
};

class Scheduler {
public:
    void submit(int number) {
        jobs_.push(new Job{number, 10 * number});    // lost: 3 blocks, 24 bytes
    }
    void run_one() {
        Job *job = jobs_.front();
        jobs_.pop();
        spent_ += job->cost;
        run_++;
        delete job;                                  // frees: 2 blocks
    }
    void cancel() {
        while (!jobs_.empty()) {
            spent_ -= jobs_.front()->number;         // last used
            jobs_.pop();                             // leaks: holder-freed this->jobs_
            cancelled_++;
        }
    }
    void summary() const { std::printf("%d run, %d cancelled\n", run_, cancelled_); }

private:
    std::queue<Job *> jobs_;
    int run_ = 0, cancelled_ = 0, spent_ = 0;
};

int main() {
    Scheduler scheduler;
    for (int number = 1; number <= 5; number++)
        scheduler.submit(number);
    scheduler.run_one();
    scheduler.run_one();
    scheduler.cancel();
    scheduler.summary();
    return 0;
}
