export const save = (p: string) => p;
