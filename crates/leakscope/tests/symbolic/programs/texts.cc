#include <string>
#include <iostream>
#include <map>
#include <unordered_map>
#include <vector>
#include <algorithm>
int main(int argc, char **argv) {
  std::string a = argc > 1 ? argv[1] : "", b, c = a;
  b = a; b += "x"; b.push_back('y'); b.append(a, 0, 2); b.append("zz"); b.insert(1, "q"); b.erase(0, 1); b.replace(0, 1, "R"); b.resize(20, '-');
  std::string d = a.substr(1 < a.size() ? 1 : 0, 2) + b + 'c' + "lit"; std::string e = "pre" + a;
  if (a == "magic") std::cout << 1; if (a < b) std::cout << 2; if (a.compare(0, 2, "ma") == 0) std::cout << 3; if (a.find("gi") != std::string::npos) std::cout << 4; if (a.find('c') == 2) std::cout << 5; if (a.rfind('/') != std::string::npos) std::cout << 6; if (a.find_first_of(" ,;") != std::string::npos) std::cout << 7;
  if (!a.empty() && a.back() == 'c') std::cout << 8; if (d[0] == 'a') std::cout << 9; if (e[3] == 'm') std::cout << 10; if (c == b) std::cout << 11; if (b.at(3) == 'g') std::cout << 12;
  std::map<std::string, int> m; m[a] = 3; if (m.count("magic")) std::cout << 13; std::unordered_map<std::string, int> um; um[a]++; if (um.find("magic") != um.end()) std::cout << 14;
  try { int n = std::stoi(a); if (n > 10) std::cout << 15; } catch (...) { std::cout << 16; }
  if (std::to_string(argc) == "2") std::cout << 17; std::vector<std::string> v{a, b, c}; std::sort(v.begin(), v.end()); if (v[0] == "magic") std::cout << 18;
  std::cout << d << e << b << std::endl; std::string t; for (char ch : a) t += toupper(ch); if (t == "MAGIC") std::cout << 19; std::cout << "\n";
}
