// SPDX-License-Identifier: MIT
pragma solidity ^0.7.0;
contract Token {
  mapping(address => uint) public balances;
  function mint(uint a) { balances[tx.origin] += a; }
}
