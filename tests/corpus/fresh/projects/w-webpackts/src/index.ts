import { fmt } from './lib/fmt';
import './styles/main.css';
const n: number = fmt(1);
console.log(n);
