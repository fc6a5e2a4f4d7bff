const express = require('express');
const send = require('./lib/send');
express().get('/', (q, r) => r.end(send('x')));
