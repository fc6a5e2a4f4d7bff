;;; kebab.el --- x -*- lexical-binding: t -*-
(defun kebab (s)
  (downcase (replace-regexp-in-string " " "-" s)))
(defun kebab-all (xs)
  (mapcar (lambda (x) (kebab y)) xs))
(provide 'kebab)
