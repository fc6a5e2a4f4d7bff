#!/bin/sh
python -m worker.main
