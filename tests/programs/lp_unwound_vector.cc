// Rows are collected in a local vector of raw pointers when a bad one throws: the vector is destroyed on the way, the rows are not.
// valgrind: differs: the vector's memory is freed on the way of the exception
// stdout: bad row 3
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct Row {
    int number;
    int width;
};

static Row *parse_row(int number, const char *text) {
    if (text[0] == '!')
        throw std::runtime_error("bad row " + std::to_string(number));    // leaks: unwound rows
    return new Row{number, 1};            // lost: 2 blocks, 16 bytes
}

static int total_width(const char *const *texts, int count) {
    std::vector<Row *> rows;
    rows.reserve(8);
    for (int i = 0; i < count; i++)
        rows.push_back(parse_row(i + 1, texts[i]));
    int width = 0;
    for (Row *row : rows) {
        width += row->width;
        delete row;
    }
    return width;
}

int main() {
    const char *texts[] = {"a", "b", "!", "d"};
    try {
        std::printf("%d\n", total_width(texts, 4));
    } catch (const std::runtime_error &error) {
        std::printf("%s\n", error.what());
    }
    return 0;
}
