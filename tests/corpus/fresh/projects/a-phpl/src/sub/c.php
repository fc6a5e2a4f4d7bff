<?php
class X { public fnction y() {} }
