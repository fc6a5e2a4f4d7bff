import { x } from './src/missing.mjs';
