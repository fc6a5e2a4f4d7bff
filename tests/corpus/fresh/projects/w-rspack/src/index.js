import { a, c } from './a';
import chart from 'chart.js/auto';
console.log(a, c, chart);
