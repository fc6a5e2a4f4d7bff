export const inRange = (v, [a, b]) => v >= a && v <= b;
