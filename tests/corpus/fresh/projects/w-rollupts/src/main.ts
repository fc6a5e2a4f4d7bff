import { sum } from './sum';
console.log(sum([1, 2], 'x'));
