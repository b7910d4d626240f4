#include "calendar.h"
#include "clock.h"
#include "limits.h"

#include <cstdlib>

namespace {
class Meeting : public Entry {
  public:
    Meeting(char *time, const char *what) : time(time), what(what) {}
    std::string line() const override { return std::string(time) + " " + what; }

  private:
    char *time;
    const char *what;
};
} // namespace

Calendar::~Calendar() {
    for (Entry *entry : entries)
        delete entry;
}

bool Calendar::add(int minutes, const char *zone, const char *what) {
    Entry *entry = new Meeting(clock_text(minutes, zone_find(zone)), what);
    if (entries.size() == MAX_ENTRIES)
        return false;
    entries.push_back(entry);
    return true;
}

std::vector<std::string> Calendar::lines() const {
    std::vector<std::string> lines;
    for (const Entry *entry : entries)
        lines.push_back(entry->line());
    return lines;
}
