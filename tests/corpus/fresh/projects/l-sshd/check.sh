#!/bin/sh
set -x
visudo -cf etc/sudoers.d/deploy
