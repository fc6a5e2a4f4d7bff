import './style.css';
import { boot } from './boot.js';
import { x } from '@/lib/x.js';
boot(x);
