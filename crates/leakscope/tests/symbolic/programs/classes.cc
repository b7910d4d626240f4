#include <iostream>
#include <string>
#include <vector>
#include <map>
#include <memory>
#include <stdexcept>
#include <algorithm>
#include <cstring>
struct Node { int v; Node *next; virtual ~Node() {} virtual int f(int x) { return x + v; } };
struct Sub : Node { int f(int x) override { return x * v; } };
static int risky(int c) { if (c == 'q') throw std::runtime_error("q"); if (c == 'w') throw c; return c + 1; }
int main(int argc, char **argv) {
  std::string line; std::vector<std::string> all; std::map<std::string, int> count;
  while (std::getline(std::cin, line)) { all.push_back(line); count[line]++; }
  for (auto &l : all) if (l == "magic") std::cout << "magic\n";
  int sum = 0;
  if (argc > 1) for (const char *p = argv[1]; *p; p++) { try { sum += risky(*p); } catch (std::exception &e) { std::cout << e.what() << "\n"; } catch (int k) { sum -= k; } }
  if (sum == 1000) std::cout << "1000\n";
  Node *n = argc > 2 && argv[2][0] == 's' ? new Sub : new Node; n->v = argc > 2 ? argv[2][1] : 3;
  if (n->f(3) == 300) std::cout << "300\n";
  if (argc > 2 && argv[2][1] != 'x') delete n;
  std::vector<int> v; for (int i = 0; argc > 1 && argv[1][i]; i++) v.push_back(argv[1][i]); std::sort(v.begin(), v.end());
  if (v.size() > 2 && v[1] == 'b') std::cout << "b\n";
  auto u = std::make_unique<int[]>(10); u[argc] = 5; std::cout << sum << " " << u[argc] << " " << count.size() << "\n";
}
