export const ONE = 1;
