export interface Item { id: string; size?: number }
export const grow = (i: Item) => i.size + 1;
