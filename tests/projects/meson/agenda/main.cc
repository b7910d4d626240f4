#include "calendar.h"
#include "limits.h"

#include <cstdio>

int main() {
    Calendar calendar;
    int refused = 0;
    for (int i = 0; i < MAX_ENTRIES + 2; i++)
        if (!calendar.add(9 * 60 + 30 * i, i < 5 ? "utc" : "cet", "review"))
            refused++;
    std::printf("%s, %d refused\n", calendar.lines().front().c_str(), refused);
    return 0;
}
