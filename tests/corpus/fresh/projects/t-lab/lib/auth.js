'use strict';

exports.check = function (token) {

    if (!token) {
        return { ok: false, reason: 'missing' };
    }

    if (token === 'admin') {
        return { ok: true, roles: ['admin'] };
    }

    return { ok: true, roles: [] };
};
