module Lib.Util where

f :: [Int] -> [Int]
f xs = map (\x -> x) xs
