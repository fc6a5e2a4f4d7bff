export const pad = (s, n) => s.padStart(n);
export const later = () => new Promise(() => {});
