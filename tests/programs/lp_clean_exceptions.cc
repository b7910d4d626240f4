// Exceptions among objects that clean up: thrown in constructors, caught and thrown on, nested, kept past their frame. Nothing is lost.
// flags: -pthread
// variants: -O0 -O2
// stdout: transfer failed / write failed / disk 2 is full and this text is long
// stdout: kept: worker died with a message that needs the heap
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class Disk {
public:
    explicit Disk(int number) : label_(std::make_unique<char[]>(32)), blocks_(16, number) {
        if (number == 3)
            throw std::invalid_argument("no such disk");
    }
    void write(int disk) {
        auto buffer = std::make_unique<std::vector<int>>(blocks_);
        if (disk == 2)
            throw std::runtime_error("disk " + std::to_string(disk) + " is full and this text is long");
        blocks_.swap(*buffer);
    }

private:
    std::unique_ptr<char[]> label_;
    std::vector<int> blocks_;
};

static void transfer(int number) {
    std::vector<std::unique_ptr<Disk>> disks;
    try {
        for (int i = 0; i <= number; i++)
            disks.push_back(std::make_unique<Disk>(i));
        for (auto &disk : disks) {
            try {
                disk->write(number);
            } catch (...) {
                std::throw_with_nested(std::runtime_error("write failed"));
            }
        }
    } catch (const std::runtime_error &) {
        std::throw_with_nested(std::runtime_error("transfer failed"));
    }
}

static std::string story(const std::exception &error) {
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception &inner) {
        return std::string(error.what()) + " / " + story(inner);
    }
    return error.what();
}

int main() {
    for (int number = 0; number < 4; number++) {
        try {
            transfer(number);
        } catch (const std::runtime_error &error) {
            std::printf("%s\n", story(error).c_str());
        } catch (const std::invalid_argument &) {
        }
    }
    std::exception_ptr kept;
    std::thread([&kept] {
        try {
            throw std::runtime_error("worker died with a message that needs the heap");
        } catch (...) {
            kept = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(kept);
    } catch (const std::exception &error) {
        std::printf("kept: %s\n", error.what());
    }
    return 0;
}
