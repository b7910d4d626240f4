// Logging out erases the table's node, which held the only pointer to the session; expiry deletes first, as it should.
// stdout: 1 left
#include <cstdio>
#include <unordered_map>

struct Session {
    int user;
    int idle;
    char token[24];
};

class SessionTable {
public:
    ~SessionTable() {
        for (auto &entry : sessions_)
            delete entry.second;            // frees: 1 block
    }

    void login(int user) {
        Session *session = new Session;     // lost: 2 blocks, 64 bytes
        session->user = user;
        session->idle = 0;
        std::snprintf(session->token, sizeof session->token, "token-%d", user);
        sessions_.emplace(user, session);
    }

    void logout(int user) {
        auto found = sessions_.find(user);
        if (found == sessions_.end())
            return;
        found->second->token[0] = '\0';     // last used
        sessions_.erase(found);             // leaks: holder-freed this->sessions_
    }

    void expire(int limit) {
        for (auto it = sessions_.begin(); it != sessions_.end();) {
            it->second->idle += it->first;
            if (it->second->idle > limit) {
                delete it->second;          // frees: 3 blocks
                it = sessions_.erase(it);
            } else {
                ++it;
            }
        }
    }

    std::size_t size() const { return sessions_.size(); }

private:
    std::unordered_map<int, Session *> sessions_;
};

int main() {
    SessionTable table;
    for (int user = 1; user <= 6; user++)
        table.login(user);
    for (int user = 2; user >= 0; user--)
        table.logout(user);
    table.expire(3);
    std::printf("%zu left\n", table.size());
    return 0;
}
