// Commands on a pool of raw pointers: add NAME, del INDEX, swap I J; del forgets to delete in one case.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

struct Item {
    std::string name;
    int uses;
};

int main()
{
    std::vector<Item *> pool;
    std::string word;
    while (std::cin >> word) {
        if (word == "add") {
            std::string name;
            if (!(std::cin >> name))
                break;
            pool.push_back(new Item{name, 0}); // @item MA
        } else if (word == "del") {
            unsigned index;
            if (!(std::cin >> index) || index >= pool.size())
                break;
            if (index + 1 == pool.size() && index >= 1) {
                pool.pop_back(); // @item LK = must-leak lost
            } else {
                delete pool[index];
                pool.erase(pool.begin() + index);
            }
        } else if (word == "show") {
            for (Item *i : pool)
                std::cout << i->name << ' ' << ++i->uses << '\n';
        } else {
            break;
        }
    }
    for (Item *i : pool)
        delete i;
    return 0;
}
