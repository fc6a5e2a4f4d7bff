import fs from 'fs';
let n = 0;
for (const f of fs.readdirSync(process.argv[2])) if (fs.readFileSync(process.argv[2] + '/' + f, 'utf8').includes('debugger')) { console.log(`${process.argv[2]}/${f}:1:1: error no debugger allowed`); n++; }
process.exit(n ? 1 : 0);
