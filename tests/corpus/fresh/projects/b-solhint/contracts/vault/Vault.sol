// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;
contract Vault {
  address owner
  function open() public {}
}
