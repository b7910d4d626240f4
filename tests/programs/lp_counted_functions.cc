// Explicit ref and unref functions: a lookup returns a new reference, and one return forgets to drop it.
// options: --explain
// valgrind -O2: differs: gcc inlines it all, and in registers: a function stands for the variables that it has there
// At the end the value is counted with 1 reference and has 0 holders. The table's own pointer dies last, in table_free,
// but rightly so: the reference was lost at the return.
// stdout: lengths 5 -1 3
#include <cstdio>
#include <cstring>

struct Value {
    int references;
    char text[20];
};

static Value *value_new(const char *text) {
    Value *value = new Value;              // lost: 1 block, 24 bytes
    value->references = 1;
    std::strncpy(value->text, text, sizeof value->text - 1);
    value->text[sizeof value->text - 1] = '\0';
    return value;
}

static Value *value_ref(Value *value) {
    value->references++;
    return value;
}

static void value_unref(Value *value) {
    if (--value->references == 0)
        delete value;                      // frees: 2 blocks
}

struct Table {
    Value *slots[3];
};

static Value *table_get(const Table *table, int index) { return value_ref(table->slots[index]); }

static void table_free(Table *table) {
    for (Value *slot : table->slots)
        value_unref(slot);
    delete table;
}

static int measure(const Table *table, int index) {
    Value *value = table_get(table, index);
    if (value->text[0] == '#')
        return -1;                         // leaks: scope-end value
    int length = static_cast<int>(std::strlen(value->text));
    value_unref(value);
    return length;
}

int main() {
    Table *table = new Table;
    const char *texts[] = {"north", "#note", "sea"};
    for (int i = 0; i < 3; i++)
        table->slots[i] = value_new(texts[i]);
    int lengths[3];
    for (int i = 0; i < 3; i++)
        lengths[i] = measure(table, i);
    std::printf("lengths %d %d %d\n", lengths[0], lengths[1], lengths[2]);
    table_free(table);
    return 0;
}
