// Objects whose class only the table of their functions tells, in containers and
// members: functions that only look at them do not keep them.
#include <cstdio>
#include <cstring>
#include <vector>

struct Listener {
    virtual ~Listener() {}
    virtual void told(int number) = 0;
    virtual const char *name() const { return "listener"; }
};

struct Counter : Listener {
    int count = 0;
    void told(int number) override { count += number; }
};

struct Naming : Listener {
    const char *last = "";
    void told(int number) override { std::printf("%s %d\n", last, number); }
    const char *name() const override { return last; }
};

struct Subject {
    std::vector<Listener *> listeners;
    void add(Listener *listener) { listeners.push_back(listener); }
    void tell(int number)
    {
        for (Listener *listener : listeners)
            listener->told(number);
    }
};

struct OwningSubject : Subject {
    ~OwningSubject()
    {
        for (Listener *listener : listeners)
            delete listener;
    }
};

void subject_bad(int number)
{
    Subject subject;
    subject.add(new Counter); // alloc @subject
    subject.tell(number);
} // leak @subject: ?

void subject_good(int number)
{
    OwningSubject subject;
    subject.add(new Counter);
    subject.tell(number);
}

class Program {
    Listener *log;

public:
    explicit Program(Listener *given) : log(given) {}
    void run(int number) { log->told(number); }
    void end() { delete log; }
};

void member_bad(int number)
{
    Program program(new Naming); // alloc @member
    program.run(number);
} // leak @member: ?

void member_good(int number)
{
    Program program(new Naming);
    program.run(number);
    program.end();
}

// One of the classes keeps what it is given, so nobody knows.
struct Reader {
    virtual ~Reader() {}
    virtual int read(char *into) = 0;
};

static std::vector<char *> kept;

struct Keeping : Reader {
    int read(char *into) override
    {
        kept.push_back(into);
        return 1;
    }
};

struct Filling : Reader {
    int read(char *into) override
    {
        std::strcpy(into, "text");
        return 4;
    }
};

int read_silent(Reader *reader)
{
    char *buffer = new char[8];
    return reader->read(buffer);
}

// A function that ends a member: the object has it no more.
struct Closing {
    char *text = new char[4];
    virtual ~Closing() {}
    virtual long close()
    {
        delete[] text;
        return 0;
    }
};

static long close_any(Closing *closing) { return closing->close(); }

void closing_good()
{
    Closing *closing = new Closing;
    close_any(closing);
    delete closing;
}

int main(int count, char **)
{
    Keeping keeping;
    subject_bad(count);
    subject_good(count);
    member_bad(count);
    member_good(count);
    closing_good();
    return read_silent(&keeping);
}
