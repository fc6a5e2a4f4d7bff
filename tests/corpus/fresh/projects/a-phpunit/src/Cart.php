<?php
namespace Shop;
class Cart { private $l=[]; function add($s,$q){$this->l[$s]=$q;} function lines(){return $this->l;} function pay(){ return $this->gateway->charge(); } }
