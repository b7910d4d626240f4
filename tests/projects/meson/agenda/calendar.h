#pragma once

#include <memory>
#include <string>
#include <vector>

class Entry {
  public:
    virtual ~Entry() = default;
    virtual std::string line() const = 0;
};

class Calendar {
  public:
    ~Calendar();
    bool add(int minutes, const char *zone, const char *what);
    std::vector<std::string> lines() const;

  private:
    std::vector<Entry *> entries;
};
