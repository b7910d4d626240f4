// A subject erases an observer from its list by identity: the entry that wraps it is not deleted.
// stdout: 1 left
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

struct Observer {
    virtual ~Observer() = default;
    virtual void update(int) = 0;
};

struct Printer : Observer {
    int seen = 0;
    void update(int n) override { seen += n; }
};

struct Subscription {
    Observer *observer;
    int topic;
};

class Subject {
public:
    void attach(Observer *o, int topic) { subscriptions_.push_back(new Subscription{o, topic}); }   // lost: 1 block, 16 bytes
    void detach(Observer *o) {
        auto at = std::find_if(subscriptions_.begin(), subscriptions_.end(), [o](Subscription *s) { return s->observer == o; });   // last used
        if (at != subscriptions_.end())
            subscriptions_.erase(at);        // leaks: overwritten ?
    }
    ~Subject() {
        for (auto *s : subscriptions_)
            delete s;
    }
    std::size_t size() const { return subscriptions_.size(); }

private:
    std::vector<Subscription *> subscriptions_;
};

int main() {
    Printer a, b;
    Subject subject;
    subject.attach(&a, 1);
    subject.attach(&b, 2);
    subject.detach(&a);
    std::printf("%zu left\n", subject.size());
    return 0;
}
