#pragma once
#include <vector>
inline std::vector<int> rng(int n) { std::vector<int> v; for (int i = 1; i < n; i++) v.push_back(i); return v; }
