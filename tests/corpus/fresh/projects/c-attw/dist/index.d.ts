declare const x: number;
export default x;
