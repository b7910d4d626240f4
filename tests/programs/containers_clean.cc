// The containers of the standard library, moved, copied and nested: nothing is left.
#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

struct Article {
    std::string title;
    std::vector<std::string> tags;
    std::shared_ptr<Article> previous;
};

static std::map<std::string, std::shared_ptr<Article>> library;

static void publish(int number) {
    auto article = std::make_shared<Article>();
    article->title = "a title that is too long to be stored inside the string " + std::to_string(number);
    for (int i = 0; i < number % 5; i++)
        article->tags.push_back("a tag that is also too long for the small buffer " + std::to_string(i));
    if (!library.empty())
        article->previous = library.begin()->second;
    library.emplace(article->title, std::move(article));
}

int main() {
    for (int i = 0; i < 300; i++)
        publish(i);

    std::unordered_map<std::string, int> counts;
    std::deque<std::function<int()>> tasks;
    for (const auto &[title, article] : library) {
        for (const auto &tag : article->tags)
            counts[tag]++;
        tasks.emplace_back([article = article] { return static_cast<int>(article->tags.size()); });
    }
    std::list<int> sizes;
    for (const auto &task : tasks)
        sizes.push_back(task());
    std::multiset<int, std::greater<>> sorted(sizes.begin(), sizes.end());
    std::ostringstream text;
    text << *sorted.begin() << ' ' << counts.size();
    return text.str() == "4 4" ? 0 : 1;
}
