<?php
function f( {
}
