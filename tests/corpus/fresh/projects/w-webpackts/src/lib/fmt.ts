export const fmt = (n: number): string => n.toFixed(2);
