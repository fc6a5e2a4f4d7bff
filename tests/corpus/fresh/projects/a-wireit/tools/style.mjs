console.log('src/sum.mjs:2:3 tabs are not allowed');
process.exit(2);
