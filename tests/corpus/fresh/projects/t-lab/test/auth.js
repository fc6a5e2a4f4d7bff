'use strict';

const Code = require('@hapi/code');
const Lab = require('@hapi/lab');
const Auth = require('../lib/auth');

const { describe, it } = exports.lab = Lab.script();
const { expect } = Code;

describe('auth', () => {

    it('rejects without token', () => {

        expect(Auth.check()).to.equal({ ok: false, reason: 'no token' });
    });

    it('accepts', () => {

        expect(Auth.check('x').ok).to.be.true();
    });
});
