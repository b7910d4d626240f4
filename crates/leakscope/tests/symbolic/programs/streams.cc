#include <iostream>
#include <fstream>
#include <sstream>
#include <string>
int main(int argc, char **argv) {
  std::string line, w; int n = 0; unsigned u = 0; long l = 0; char c;
  if (std::getline(std::cin, line) && line == "magic") std::cout << "magic\n";
  if (std::cin >> w && w == "word") std::cout << "word\n";
  if (std::cin >> n && n > 41) std::cout << "n\n";
  if (std::cin >> u >> l && u + l == 100) std::cout << "ul\n";
  if (std::cin.get(c) && c == '\n') std::cout << "nl\n";
  if (std::cin.get() == 'x') std::cout << "x\n";
  if (std::cin >> c && c == 'y') std::cout << "y\n";
  char buf[10]; std::cin.read(buf, 4); if (std::cin.gcount() == 4 && buf[2] == 'q') std::cout << "q\n";
  if (argc > 1) { std::ifstream f(argv[1]); while (std::getline(f, line)) if (line.size() > 4 && line[4] == 'o') std::cout << "o\n"; }
  if (argc > 2) { std::istringstream s(argv[2]); int a, b; if (s >> a >> b && a * b == 77) std::cout << "77\n"; }
  try { char *volatile p = new char[argc > 2 ? (size_t)-1 / 4 : 3]; p[0] = 1; delete[] p; } catch (std::bad_alloc &) { std::cout << "bad\n"; }
  for (std::string t; std::getline(std::cin, t, ';'); ) if (t == "k") std::cout << "k\n";
}
