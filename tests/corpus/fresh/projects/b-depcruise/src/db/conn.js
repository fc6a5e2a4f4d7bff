import { query } from './query.js';
export const conn = (s) => (s ? s : query(''));
