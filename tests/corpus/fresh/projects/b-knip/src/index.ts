import { total } from './total';
import dayjs from 'dayjs';
console.log(total([1, 2]), dayjs());
