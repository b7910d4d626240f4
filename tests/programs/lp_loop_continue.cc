// A loop skips some files by `continue` and stops at another by `break`: each leaves the iteration's raw header behind.
// gap: -O2: the optimiser leaves no use on the line
// valgrind -O2: differs: all ways out of the body lead through a destructor at its closing brace
// stdout: 2 read, 4 visited
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

struct Header {
    char magic[4];
    unsigned length;
};

static Header *read_header(const std::string &bytes) {
    Header *header = new Header;                              // lost @skipped: 1 block, 8 bytes; lost @stopped: 1 block, 8 bytes
    std::memcpy(header->magic, bytes.data(), sizeof header->magic);
    header->length = static_cast<unsigned>(bytes.size());
    return header;
}

static int read_all(const std::vector<std::string> &files, int *visited) {
    int read = 0;
    for (const std::string &file : files) {
        std::string path = "/var/spool/incoming/queue/" + file;
        Header *header = read_header(file);
        ++*visited;
        if (std::memcmp(header->magic, "SKIP", 4) == 0)       // last used @skipped
            continue;                                         // leaks @skipped: scope-end header
        if (header->length > 8)                               // last used @stopped
            break;                                            // leaks @stopped: scope-end header
        read++;
        delete header;                                        // frees @skipped: 2 blocks; frees @stopped: 2 blocks
    }
    return read;
}

int main() {
    int visited = 0;
    int read = read_all({"DATA1", "SKIP2", "DATA3", "DATA4-too-long", "DATA5"}, &visited);
    std::printf("%d read, %d visited\n", read, visited);
    return 0;
}
