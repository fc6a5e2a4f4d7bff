export const a = b;
