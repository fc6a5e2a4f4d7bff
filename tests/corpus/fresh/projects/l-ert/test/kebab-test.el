;;; -*- lexical-binding: t -*-
(require 'ert)
(require 'kebab)
(ert-deftest kebab-simple () (should (equal (kebab "A B") "a-b")))
(ert-deftest kebab-trim () (should (equal (kebab " A ") "a")))
(ert-deftest kebab-many () (should (equal (kebab-all '("A")) '("a"))))
