// delete[] of an array of plain structs frees the array and the texts, but not the cells that each row owns.
// stdout: 3 rows, total 12.0
#include <cstdio>

struct Row {
    char *title;
    double *cells;
    int count;
};

static Row *load_rows(int count) {
    Row *rows = new Row[count];
    for (int i = 0; i < count; i++) {
        rows[i].count = i + 1;
        rows[i].title = new char[16];
        rows[i].cells = new double[rows[i].count];    // lost: 3 blocks, 48 bytes
        std::snprintf(rows[i].title, 16, "row %d", i);
        for (int k = 0; k < rows[i].count; k++)
            rows[i].cells[k] = i + k;
    }
    return rows;
}

static double total(const Row *rows, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < rows[i].count; k++)
            sum += rows[i].cells[k];                  // last used
    return sum;
}

static void free_rows(Row *rows, int count) {
    for (int i = 0; i < count; i++)
        delete[] rows[i].title;
    delete[] rows;                                    // leaks: holder-freed rows[i].cells
}

int main() {
    int count = 3;
    Row *rows = load_rows(count);
    std::printf("%d rows, total %.1f\n", count, total(rows, count));
    free_rows(rows, count);
    return 0;
}
