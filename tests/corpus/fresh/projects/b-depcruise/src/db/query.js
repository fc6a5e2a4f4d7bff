import { conn } from './conn.js';
export const query = (s) => conn(s);
