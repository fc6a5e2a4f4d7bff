const nodemailer = require('nodemailer');
const pino = require('pino');
module.exports = (to) => pino().info(nodemailer, to);
