#pragma once
#include <stdexcept>
#include <vector>
struct Queue { std::vector<int> xs; int pop() { if (xs.empty()) throw std::out_of_range("empty queue"); int x = xs.back(); xs.pop_back(); return x; } };
