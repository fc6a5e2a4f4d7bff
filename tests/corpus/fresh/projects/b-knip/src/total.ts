export const total = (xs: number[]) => xs.reduce((a, b) => a + b, 0);
export const average = (xs: number[]) => total(xs) / xs.length;
export interface Row { id: number }
