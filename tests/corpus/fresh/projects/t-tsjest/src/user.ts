export interface User { id: number; name: string }
export function greet(u: User): string { return `hi ${u.nme}`; }
