export const a = null;
