// The standard library throws for a bad field: the innermost line of ours is the call of std::stoi or of at().
// valgrind -O2: differs: gcc inlines parse_row into main, which no throw leaves: row is in a register until the next line's comes
// stdout: 2 rows, 2 errors
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

struct Row {
    long id;
    long unit;
};

static const std::map<std::string, long> units = {{"kg", 1000}, {"g", 1}};

static Row *parse_row(const std::string &line) {
    std::size_t comma = line.find(',');
    Row *row = new Row;                               // lost @number: 1 block, 16 bytes; lost @unit: 1 block, 16 bytes
    row->id = 0;                                      // last used @number
    row->id = std::stoi(line.substr(0, comma));       // leaks @number: unwound row; last used @unit
    row->unit = units.at(line.substr(comma + 1));     // leaks @unit: unwound row
    return row;
}

int main() {
    int rows = 0, errors = 0;
    for (const char *line : {"12,kg", "x9,kg", "40,lb", "7,g"}) {
        try {
            Row *row = parse_row(line);
            if (row->id * row->unit > 0)
                rows++;
            delete row;                               // frees @number: 2 blocks; frees @unit: 2 blocks
        } catch (const std::logic_error &) {
            errors++;
        }
    }
    std::printf("%d rows, %d errors\n", rows, errors);
    return 0;
}
