// A list of raw pointers: pop_front() and remove_if() free their nodes, not the messages.
// valgrind-variable -O2: differs: gcc inlines the methods, where this is main's mailbox; remove_if frees through a list of its own
// stdout: delivered 3, kept 1
#include <cstdio>
#include <list>

struct Message {
    int number;
    bool spam;
    char text[27];
};

class Mailbox {
public:
    ~Mailbox() {
        for (Message *message : inbox_)
            delete message;                      // frees @spam: 1 block; frees @read: 1 block
    }

    void arrive(int number) {
        Message *message = new Message{number, number % 3 == 2, "hello"};    // lost @spam: 2 blocks, 64 bytes; lost @read: 3 blocks, 96 bytes
        inbox_.push_back(message);
    }

    void sweep() {
        auto is_spam = [](const Message *message) {
            return message->spam;                // last used @spam
        };
        inbox_.remove_if(is_spam);               // leaks @spam: holder-freed this->inbox_
    }

    int deliver() {
        int number = inbox_.front()->number;     // last used @read
        inbox_.pop_front();                      // leaks @read: holder-freed this->inbox_
        return number;
    }

    std::size_t size() const { return inbox_.size(); }

private:
    std::list<Message *> inbox_;
};

int main() {
    Mailbox mailbox;
    for (int number = 0; number < 6; number++)
        mailbox.arrive(number);
    mailbox.sweep();
    int delivered = 0, last = -1;
    while (mailbox.size() > 1) {
        int number = mailbox.deliver();
        if (number <= last)
            return 1;
        last = number;
        delivered++;
    }
    std::printf("delivered %d, kept %zu\n", delivered, mailbox.size());
    return 0;
}
