export class Ring {
  constructor(n) { this.n = n; this.xs = []; }
  push(x) { this.xs.push(x); return this; }
}
