export class Lru {
  #m = new Map();
  constructor(n) { this.n = n; }
  set(k, v) { this.#m.set(k, v); }
  dump() { return Object.fromEntries(this.#m); }
}
