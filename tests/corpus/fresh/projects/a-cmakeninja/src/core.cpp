#include "core.hpp"
#include <vector>
int Core::run() { std::vector<int> v; v.push_bak(1); return v; }
