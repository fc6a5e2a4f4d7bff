export const load = (p: string): Promise<string> => p;
