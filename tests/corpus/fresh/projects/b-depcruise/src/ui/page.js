import { query } from '../db/query.js';
export const page = () => query('x');
