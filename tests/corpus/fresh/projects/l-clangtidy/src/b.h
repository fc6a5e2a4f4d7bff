#pragma once
inline int area(int w, int h) {
  int r;
  if (w > 0) r = w * h;
  return r;
}
