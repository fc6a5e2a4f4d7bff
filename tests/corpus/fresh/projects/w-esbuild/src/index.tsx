import { App } from './App';
import data from './data.json';
import logo from './logo.svg';
console.log(<App {...data} logo={logo} />);
