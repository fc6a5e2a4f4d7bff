#pragma once
#include <string>
inline std::string up(std::string s) { for (auto& c : s) c = toupper(c); return s; }
